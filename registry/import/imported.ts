import type { HttpMethod, Risk } from '#contracts/vocabulary';
import type { JsonObject } from '../domain/context.ts';
import type { FindingCode } from '../domain/findings.ts';

export interface ImportRequest {
  /** OpenAPI 3.0 or 3.1 as JSON or YAML, at most 64 MiB (YAML: 16 MiB); bytes must be UTF-8. */
  readonly text: string | Uint8Array;
  /** Operation ids, given or synthesised, or `METHOD /path`; null and absent mean all of them. */
  readonly includeOperations?: readonly string[] | null | undefined;
  /** Key of the template; by default made from the title. */
  readonly key?: string | null | undefined;
  /** Where the document comes from: relative servers are relative to it. Never fetched. */
  readonly sourceUrl?: string | null | undefined;
}

/** Why a document or an operation cannot be imported, or what of it was changed. Closed, like error codes. */
export const importCodes = [
  // The document is refused
  'too_large',
  'too_complex',
  'syntax',
  'duplicate_key',
  'not_openapi',
  'openapi_version',
  'operation_unknown',
  'key_invalid',
  'time_out',
  // The operation is skipped
  'method_unsupported',
  'path_invalid',
  'operation_malformed',
  'path_duplicate',
  'other_server',
  'parameter_unsupported',
  'body_unsupported',
  'does_not_fit',
  // Something was inferred, changed or left out
  'needs_base_url',
  'server_changed',
  'auth_unknown',
  'auth_unsupported',
  'auth_changed',
  'scope_added',
  'parameter_dropped',
  'body_dropped',
  'ref_remote',
  'ref_not_found',
  'ref_cycle',
  'schema_opened',
  'schema_changed',
  'callbacks_ignored',
  'more_findings',
] as const;
export type ImportCode = (typeof importCodes)[number];

export interface ImportFinding {
  readonly code: ImportCode | FindingCode;
  readonly message: string;
  /** JSON pointer into the document as it was given. */
  readonly path: string;
  readonly line?: number;
  /** `error`: not imported; `warning`: somebody should look; `info`: how it was read. */
  readonly severity: 'error' | 'warning' | 'info';
}

/** What an operation of the source did not say itself. */
export type Inference =
  | 'operation_id'
  | 'summary'
  | 'risk'
  | 'scope_param'
  | 'response_type'
  | 'parameters'
  | 'constants'
  | 'media_type';

export interface ImportedOperation {
  readonly operation_id: string;
  readonly method: HttpMethod | 'TRACE';
  readonly path: string;
  readonly summary: string;
  readonly risk: Risk;
  /** Whether it is in the document. */
  readonly included: boolean;
  readonly inferred: Inference[];
  /** Why it was selected and yet is not in the document. */
  readonly skipped?: { readonly code: ImportFinding['code']; readonly message: string };
}

export type Imported =
  | {
      readonly ok: true;
      readonly key: string;
      readonly title: string;
      /** A template document (OpenAPI 3.1.0 with `x-service-*`) that compiles as a draft. */
      readonly document: JsonObject;
      /** Every operation of the source, in its order. */
      readonly operations: ImportedOperation[];
      readonly findings: ImportFinding[];
    }
  | { readonly ok: false; readonly findings: ImportFinding[] };
