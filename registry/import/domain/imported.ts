import type { HttpMethod, Risk } from '#contracts/vocabulary';
import type { JsonObject } from '../../document/domain/context.ts';
import type { FindingCode } from '../../document/domain/findings.ts';

/** Where requests carry an API key. */
export interface ApiKeyPlace {
  readonly in: 'header' | 'query';
  readonly name: string;
}

export interface ImportRequest {
  /**
   * A document of OpenAPI 3 or Swagger 2.0 in JSON (at most 64 MiB) or YAML (at most 16 MiB). Bytes must be
   * UTF-8.
   */
  readonly text: string | Uint8Array;
  /**
   * The operations to import, each by its operation id (from the document or generated) or as
   * `METHOD /path`. Null or absent means all operations.
   */
  readonly includeOperations?: readonly string[] | null | undefined;
  /** The key of the template. When absent, the key is made from the title. */
  readonly key?: string | null | undefined;
  /**
   * The URL of the document. Relative server URLs are relative to it, unless there is a `baseUrl`. The importer never fetches
   * it.
   */
  readonly sourceUrl?: string | null | undefined;
  /**
   * The base URL of the API, as `servers` of a template may hold it. It takes the place of the
   * document's servers.
   */
  readonly baseUrl?: string | null | undefined;
  /** The API key that all operations need, and that the document forgets. */
  readonly apiKey?: ApiKeyPlace | null | undefined;
}

/**
 * The closed list of reasons why a document or operation is refused or changed. The codes are an
 * interface, like error codes.
 */
export const importCodes = [
  // Why the whole document is refused
  'too_large',
  'too_complex',
  'syntax',
  'duplicate_key',
  'not_openapi',
  'openapi_version',
  'several_files',
  'operation_unknown',
  'key_invalid',
  'key_place_invalid',
  'time_out',
  // Why an operation is skipped
  'method_unsupported',
  'path_invalid',
  'operation_malformed',
  'path_duplicate',
  'other_server',
  'parameter_unsupported',
  'body_unsupported',
  'does_not_fit',
  // What was inferred, changed or left out
  'version_changed',
  'needs_base_url',
  'server_changed',
  'auth_unknown',
  'auth_unsupported',
  'auth_changed',
  'auth_inferred',
  'scope_added',
  'parameter_dropped',
  'body_dropped',
  'body_required',
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
  /** A JSON pointer into the source document. */
  readonly path: string;
  readonly line?: number;
  /**
   * `error`: the element was not imported; `warning`: a person should check how it was imported;
   * `info`: a note on how it was read.
   */
  readonly severity: 'error' | 'warning' | 'info';
}

/**
 * The properties of an operation that the import inferred because the source does not state them.
 */
export type Inference =
  | 'operation_id'
  | 'summary'
  | 'risk'
  | 'scope_param'
  | 'response_type'
  | 'parameters'
  | 'constants'
  | 'media_type'
  | 'body_required';

export interface ImportedOperation {
  readonly operation_id: string;
  readonly method: HttpMethod | 'TRACE';
  readonly path: string;
  readonly summary: string;
  readonly risk: Risk;
  /** Present when the document says that the operation is deprecated. */
  readonly deprecated?: true;
  /** Whether the template contains the operation. */
  readonly included: boolean;
  readonly inferred: Inference[];
  /** Why an operation was selected but is not in the template. */
  readonly skipped?: { readonly code: ImportFinding['code']; readonly message: string };
}

export type Imported =
  | {
      readonly ok: true;
      readonly key: string;
      readonly title: string;
      /** A template document (OpenAPI 3.1.0 with `x-service-*`) that compiles as a draft. */
      readonly document: JsonObject;
      /** All operations of the source, in its order. */
      readonly operations: ImportedOperation[];
      readonly findings: ImportFinding[];
    }
  | { readonly ok: false; readonly findings: ImportFinding[] };
