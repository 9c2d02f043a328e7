import type { JsonValue } from '#contracts/vocabulary';
import type { Findings, DocumentPath } from './findings.ts';

export type JsonObject = { [key: string]: JsonValue };

export interface CompileOptions {
  readonly tier: 'user' | 'org' | 'global';
  readonly ownerId: string | null;
  readonly version: number;
  /** A draft may have no servers yet, but a service cannot be connected without one. */
  readonly isDraft?: boolean;
  /** Whether the operator allows calls by plain http to a host (setting EGRESS_ALLOW). */
  readonly isPlainHttpAllowed?: (host: string) => boolean;
  /**
   * Returns the syntax error of a jq filter, or undefined. The compiler is pure and running jq is
   * not, so the caller of the compiler passes this function.
   */
  readonly checkFilter?: (filter: string) => string | undefined;
}

/** The input that all parts of the compiler share. */
export interface CompileContext {
  readonly document: JsonObject;
  readonly findings: Findings;
  readonly options: CompileOptions;
  /** How many schema nodes replacing references may still add to this document. */
  readonly budget: { schemaNodes: number };
  /**
   * The result of checking each schema, by the JSON text of the schema: documents repeat schemas
   * often, and each is then checked once.
   */
  readonly checkedSchemas: Map<string, string | undefined>;
}

/** A value of the document together with its path, so that a finding can point to the value. */
export interface DocumentNode<Value = JsonValue> {
  readonly value: Value;
  readonly path: DocumentPath;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
