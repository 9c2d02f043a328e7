import type { JsonValue } from '#contracts/vocabulary';
import type { Findings, Path } from './findings.ts';

export type JsonObject = { [key: string]: JsonValue };

export interface CompileOptions {
  readonly tier: 'user' | 'org' | 'global';
  readonly ownerId: string | null;
  readonly version: number;
  /** A draft may still lack its servers; a service cannot be connected without them. */
  readonly isDraft?: boolean;
  /** The operator allows plain http to this host (setting EGRESS_ALLOW). */
  readonly isPlainHttpAllowed?: (host: string) => boolean;
  /** Why a jq filter does not compile; undefined when it does. Not pure, therefore passed in. */
  readonly checkFilter?: (filter: string) => string | undefined;
}

/** What every part of the compiler is given. */
export interface Context {
  readonly document: JsonObject;
  readonly findings: Findings;
  readonly options: CompileOptions;
  /** How much more the schemas of this document may unfold to. */
  readonly budget: { schemaNodes: number };
  /** Verdicts on schemas by their text: documents repeat a few of them very often. */
  readonly judged: Map<string, string | undefined>;
}

/** A value together with where it stands, so that a finding can point to it. */
export interface Place<Value = JsonValue> {
  readonly value: Value;
  readonly path: Path;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
