/** A path from the root of a template document. */
export type DocumentPath = readonly (string | number)[];

/**
 * The closed list of mistakes in a template. The codes are an interface, like error codes: the
 * dashboard and authors' tools depend on them.
 */
export const findingCodes = [
  // Mistakes in the text of the document
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
  // Mistakes in extensions
  'ambiguous_alias',
  'unknown_extension',
  'misplaced_extension',
  // Mistakes in the template as a whole
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
  // Mistakes in references and schemas
  'ref_remote',
  'ref_not_found',
  'ref_cycle',
  'schema_invalid',
  'schema_keyword_unknown',
  // Mistakes in actions
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
  'compose_invalid',
  'failure_invalid',
  'redact_invalid',
  'resolve_invalid',
] as const;
export type FindingCode = (typeof findingCodes)[number];

export interface Finding {
  readonly code: FindingCode;
  /** What is wrong, and how to correct it. */
  readonly message: string;
  /** A JSON pointer into the document as its author wrote it. */
  readonly path: string;
  /** The line, counted from 1; null when the document was given as an object and has no lines. */
  readonly line: number | null;
}

export interface Report {
  readonly valid: boolean;
  readonly errors: Finding[];
  readonly warnings: Finding[];
}

/** Collects the mistakes in a document, so that its author sees all of them at once. */
export interface Findings {
  error(code: FindingCode, path: DocumentPath, message: string): void;
  /** Reports a mistake in text that cannot be parsed: only its line is known, not its path. */
  errorAtLine(code: FindingCode, line: number, message: string): void;
  warn(code: FindingCode, path: DocumentPath, message: string): void;
  report(): Report;
}

/**
 * Finds the text that belongs to a path. Paths use canonical extension names, and the author may
 * have written an extension in another form.
 */
export type LocatePath = (path: DocumentPath) => { pointer: string; line: number | null };

/** Further findings are dropped: an author corrects the first ones and compiles again. */
const findingsMax = 100;

export function createFindings(locate: LocatePath): Findings {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  const addFinding = (list: Finding[], finding: Finding) => {
    if (list.length >= findingsMax) return;
    const { path, message } = finding;
    if (list.some((found) => found.path === path && found.message === message)) return;
    list.push(finding);
  };
  const createFinding = (code: FindingCode, path: DocumentPath, message: string): Finding => {
    const { pointer, line } = locate(path);
    return { code, message, path: pointer, line };
  };
  return {
    error: (code, path, message) => addFinding(errors, createFinding(code, path, message)),
    errorAtLine: (code, line, message) => addFinding(errors, { code, message, path: '', line }),
    warn: (code, path, message) => addFinding(warnings, createFinding(code, path, message)),
    report: () => ({ valid: errors.length === 0, errors, warnings }),
  };
}

/** Writes a path as a JSON pointer (RFC 6901). */
export function pointerTo(path: DocumentPath): string {
  return path
    .map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}
