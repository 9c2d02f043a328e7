/** Where something stands in a template document, from its root. */
export type Path = readonly (string | number)[];

/**
 * The closed list of what can be wrong with a template. Like error codes they
 * are an interface: the dashboard and authors' tools branch on them.
 */
export const findingCodes = [
  // Reading the document
  'too_large',
  'too_complex',
  'syntax',
  'duplicate_key',
  'forbidden_key',
  'not_json',
  'wrong_type',
  'required_field_missing',
  'unknown_field',
  'out_of_bounds',
  'unsupported',
  // Extensions
  'ambiguous_alias',
  'unknown_extension',
  'misplaced_extension',
  // Template
  'openapi_version',
  'key_invalid',
  'runtime_unsupported',
  'mcp_invalid',
  'mcp_unexpected',
  'server_invalid',
  'server_not_https',
  'server_variable',
  'needs_base_url',
  'security_scheme_invalid',
  'security_scheme_unknown',
  'provider_url_mismatch',
  'scope_unknown',
  'header_not_allowed',
  // References and schemas
  'ref_remote',
  'ref_not_found',
  'ref_cycle',
  'schema_invalid',
  'schema_keyword_unknown',
  // Actions
  'path_invalid',
  'path_duplicate',
  'path_param_undeclared',
  'path_param_unused',
  'operation_id_invalid',
  'operation_id_duplicate',
  'parameter_invalid',
  'parameter_duplicate',
  'parameter_ignored',
  'parameter_renamed',
  'style_ignored',
  'default_ignored',
  'body_invalid',
  'body_as_text',
  'body_ignored',
  'risk_invalid',
  'risk_understated',
  'summary_invalid',
  'summary_param_unknown',
  'scope_param_unknown',
  'scope_param_unsuited',
  'disclose_invalid',
  'redact_invalid',
  'resolve_invalid',
] as const;
export type FindingCode = (typeof findingCodes)[number];

export interface Finding {
  readonly code: FindingCode;
  /** Says what is wrong and how to mend it. */
  readonly message: string;
  /** JSON pointer into the document as its author wrote it. */
  readonly path: string;
  /** From 1; null where the document has no lines. */
  readonly line: number | null;
}

export interface Report {
  readonly valid: boolean;
  readonly errors: Finding[];
  readonly warnings: Finding[];
}

/** Collects what is wrong while a document is read, so that an author sees all of it at once. */
export interface Findings {
  error(code: FindingCode, path: Path, message: string): void;
  /** For text that cannot be parsed: it has lines, but no structure yet. */
  errorAtLine(code: FindingCode, line: number, message: string): void;
  warn(code: FindingCode, path: Path, message: string): void;
  report(): Report;
}

/** Finds a path in the author's own text, where a key may be spelled another way. */
export type Locate = (path: Path) => { pointer: string; line: number | null };

/** A hopeless document stops adding findings here; the first ones are what an author mends first. */
const findingsMax = 100;

export function createFindings(locate: Locate): Findings {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  const add = (list: Finding[], finding: Finding) => {
    if (list.length >= findingsMax) return;
    const { path, message } = finding;
    if (list.some((found) => found.path === path && found.message === message)) return;
    list.push(finding);
  };
  const located = (code: FindingCode, path: Path, message: string): Finding => {
    const { pointer, line } = locate(path);
    return { code, message, path: pointer, line };
  };
  return {
    error: (code, path, message) => add(errors, located(code, path, message)),
    errorAtLine: (code, line, message) => add(errors, { code, message, path: '', line }),
    warn: (code, path, message) => add(warnings, located(code, path, message)),
    report: () => ({ valid: errors.length === 0, errors, warnings }),
  };
}

/** RFC 6901. */
export function pointerTo(path: Path): string {
  return path
    .map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}
