import { LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';

import { findDuplicateKeys } from '../../document/domain/duplicate-keys.ts';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject } from '../../document/domain/context.ts';
import { countKeys, findDuplicateKey } from './json-keys.ts';
import type { ImportCode, ImportFinding } from './imported.ts';

const mebibyte = 1024 * 1024;
export const jsonBytesMax = 64 * mebibyte;
/**
 * The limit for YAML is lower because the YAML parser keeps each token and needs a hundred times
 * the size of the text.
 */
export const yamlBytesMax = 16 * mebibyte;
const nestingDepthMax = 500;
/** The largest known document, Microsoft Graph, has 2.4 million values. */
const valuesMax = 10_000_000;
const aliasesMax = 10_000;

const tooDeepMessage = `The document nests deeper than ${nestingDepthMax} levels.`;

export type ReadTextResult =
  | { readonly ok: true; readonly document: JsonObject }
  | { readonly ok: false; readonly findings: ImportFinding[] };

/**
 * Parses JSON or YAML text to plain data. Refuses text that is ambiguous, and text that could
 * exhaust the parser.
 */
export function readText(content: string | Uint8Array): ReadTextResult {
  const text = typeof content === 'string' ? content : decodeText(content);
  if (text === undefined)
    return createRefusal('syntax', 'The document is not UTF-8. Save it as UTF-8.');
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const isJson = looksLikeJson(source);
  const bytesMax = isJson ? jsonBytesMax : yamlBytesMax;
  if (source.length > bytesMax) {
    const kind = isJson ? 'JSON' : 'YAML';
    return createRefusal(
      'too_large',
      `A ${kind} document may have at most ${bytesMax / mebibyte} MiB. Cut it down${isJson ? '' : ', or convert it to JSON, which may have 64'}.`,
    );
  }
  const parseResult = isJson ? readJson(source) : readYaml(source);
  return 'findings' in parseResult
    ? { ok: false, findings: parseResult.findings }
    : checkParsed(parseResult, source);
}

/**
 * Whether the text is probably JSON, by its first character. YAML can begin with the same character
 * in flow style, whose syntax is close to JSON.
 */
export function looksLikeJson(text: string | Uint8Array): boolean {
  const start =
    typeof text === 'string' ? text.slice(0, 100) : new TextDecoder().decode(text.subarray(0, 100));
  return /^\s*[{[]/.test(start);
}

type ParsedText = { readonly value: unknown; readonly isJson: boolean };

function checkParsed({ value, isJson }: ParsedText, source: string): ReadTextResult {
  const keyCount = countKeysWithin(value);
  if (keyCount === undefined) {
    return createRefusal(
      'too_complex',
      `The document nests deeper than ${nestingDepthMax} levels, or unfolds to too many values.`,
    );
  }
  // Of two equal keys `JSON.parse` silently keeps only the last. The parsed value then has fewer
  // keys than the text, which is how a duplicate is noticed.
  const duplicateKey =
    isJson && keyCount < countKeys(source) ? findDuplicateKey(source) : undefined;
  if (duplicateKey) {
    const message = `The key "${duplicateKey.key.slice(0, 100)}" appears twice in one object, so its value is ambiguous. Remove one.`;
    return createRefusal('duplicate_key', message, duplicateKey.line);
  }
  if (!isObject(value)) return createRefusal('not_openapi', 'The document is not an object.');
  return { ok: true, document: value };
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // The bytes are not UTF-8: the decoder reports that only by throwing.
    return undefined;
  }
}

function readJson(source: string): ParsedText | { findings: ImportFinding[] } {
  try {
    return { value: JSON.parse(source) as unknown, isJson: true };
  } catch (error) {
    // V8 puts the line into its message: "… at position 17 (line 1 column 18)".
    const line = /\(line (\d+) column \d+\)/.exec(String(error))?.[1];
    return createRefusal(
      'syntax',
      'The document is not valid JSON. It may have been cut off.',
      line === undefined ? undefined : Number(line),
    );
  }
}

/** The most syntax errors that are reported. */
const findingsMax = 20;

function readYaml(source: string): ParsedText | { findings: ImportFinding[] } {
  // The YAML parser recurses: on deeply nested text it would run for seconds until its stack is
  // exhausted.
  if (maxFlowDepth(source) > nestingDepthMax) return createRefusal('too_complex', tooDeepMessage);
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(source, {
      lineCounter: lines,
      version: '1.2',
      schema: 'core',
      stringKeys: true,
      uniqueKeys: false,
      logLevel: 'error',
    });
  } catch {
    // The YAML parser recurses, so text with thousands of levels exhausts its stack.
    return createRefusal('too_complex', tooDeepMessage);
  }
  if (document.errors.some((problem) => problem.code === 'RESOURCE_EXHAUSTION')) {
    return createRefusal('too_complex', tooDeepMessage);
  }
  const problems = document.errors.slice(0, findingsMax).map((problem) => {
    const [headline = 'The document is not valid YAML'] = problem.message.split('\n');
    const message = headline.replace(/:$/, '.').slice(0, 300);
    return { code: 'syntax' as const, message, line: problem.linePos?.[0].line ?? 1 };
  });
  const duplicates = findDuplicateKeys(document, { lines, max: findingsMax }).map((each) => ({
    code: 'duplicate_key' as const,
    ...each,
  }));
  const findings = [...problems, ...duplicates]
    .slice(0, findingsMax)
    .map((problem): ImportFinding => ({ ...problem, path: '', severity: 'error' }));
  if (findings.length > 0) return { findings };
  try {
    return { value: document.toJS({ maxAliasCount: aliasesMax }) as unknown, isJson: false };
  } catch {
    // The YAML parser throws for an alias without an anchor, and for more aliases than the limit.
    return createRefusal('too_complex', 'The document has YAML aliases that cannot be followed.');
  }
}

/**
 * The largest number of brackets that are open at one point of the text. Brackets inside strings
 * are counted too, which is harmless because few of them stay open.
 */
function maxFlowDepth(source: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of source.matchAll(/[[\]{}]/g)) {
    depth = bracket === '[' || bracket === '{' ? depth + 1 : Math.max(0, depth - 1);
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/**
 * Counts the keys in a value; undefined when the value is too large or too deep. Does not recurse,
 * because a very deep value would exhaust the stack.
 */
function countKeysWithin(root: unknown): number | undefined {
  let valuesAtLevel: unknown[] = [root];
  let valueCount = 1;
  let keyCount = 0;
  for (let depth = 0; valuesAtLevel.length > 0; depth += 1) {
    if (depth > nestingDepthMax) return undefined;
    const valuesAtNextLevel: unknown[] = [];
    for (const value of valuesAtLevel) {
      if (typeof value !== 'object' || value === null) continue;
      const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
      if (!Array.isArray(value)) keyCount += children.length;
      valueCount += children.length;
      if (valueCount > valuesMax) return undefined;
      for (const item of children)
        if (typeof item === 'object' && item !== null) valuesAtNextLevel.push(item);
    }
    valuesAtLevel = valuesAtNextLevel;
  }
  return keyCount;
}

function createRefusal(
  code: ImportCode,
  message: string,
  line?: number,
): { ok: false; findings: ImportFinding[] } {
  const lineField = line === undefined ? {} : { line };
  return { ok: false, findings: [{ code, message, path: '', ...lineField, severity: 'error' }] };
}
