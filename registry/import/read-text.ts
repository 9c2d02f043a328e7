import { LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';

import { isObject } from '../domain/context.ts';
import type { JsonObject } from '../domain/context.ts';
import { countKeys, findDuplicateKey } from './json-keys.ts';
import type { ImportCode, ImportFinding } from './imported.ts';

const mebibyte = 1024 * 1024;
export const jsonBytesMax = 64 * mebibyte;
/** Its parser keeps every token, at a hundred times the size of the text. */
export const yamlBytesMax = 16 * mebibyte;
const depthMax = 500;
/** Microsoft Graph, the largest document known, has 2.4 million. */
const valuesMax = 10_000_000;
const aliasesMax = 10_000;

const tooDeep = `The document nests deeper than ${depthMax} levels.`;

export type Reading =
  | { readonly ok: true; readonly document: JsonObject }
  | { readonly ok: false; readonly findings: ImportFinding[] };

/** Text to plain data, refusing what cannot be read in one way only, or is built to exhaust the reader. */
export function readText(given: string | Uint8Array): Reading {
  const text = typeof given === 'string' ? given : decode(given);
  if (text === undefined) return refused('syntax', 'The document is not UTF-8. Save it as UTF-8.');
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const isJson = looksLikeJson(source);
  const bytesMax = isJson ? jsonBytesMax : yamlBytesMax;
  if (source.length > bytesMax) {
    const kind = isJson ? 'JSON' : 'YAML';
    return refused(
      'too_large',
      `A ${kind} document may have at most ${bytesMax / mebibyte} MiB. Cut it down${isJson ? '' : ', or convert it to JSON, which may have 64'}.`,
    );
  }
  const parsed = isJson ? readJson(source) : readYaml(source);
  return 'findings' in parsed ? { ok: false, findings: parsed.findings } : checked(parsed, source);
}

/** YAML never starts like this but in flow style, which is JSON or close to it. */
export function looksLikeJson(text: string | Uint8Array): boolean {
  const start =
    typeof text === 'string' ? text.slice(0, 100) : new TextDecoder().decode(text.subarray(0, 100));
  return /^\s*[{[]/.test(start);
}

type Parsed = { readonly value: unknown; readonly isJson: boolean };

function checked({ value, isJson }: Parsed, source: string): Reading {
  const keys = measure(value);
  if (keys === undefined) {
    return refused(
      'too_complex',
      `The document nests deeper than ${depthMax} levels, or unfolds to too many values.`,
    );
  }
  // `JSON.parse` keeps the last of two equal keys and says nothing; then there are fewer than in the text.
  const twice = isJson && keys < countKeys(source) ? findDuplicateKey(source) : undefined;
  if (twice) {
    const message = `The key "${twice.key.slice(0, 100)}" stands twice in one object, so what it means is not known. Remove one.`;
    return refused('duplicate_key', message, twice.line);
  }
  if (!isObject(value)) return refused('not_openapi', 'The document is not an object.');
  return { ok: true, document: value };
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // The decoder has no way of asking but trying.
    return undefined;
  }
}

function readJson(source: string): Parsed | { findings: ImportFinding[] } {
  try {
    return { value: JSON.parse(source) as unknown, isJson: true };
  } catch (error) {
    // V8 names the place: "… at position 17 (line 1 column 18)".
    const line = /\(line (\d+) column \d+\)/.exec(String(error))?.[1];
    return refused(
      'syntax',
      'The document is not valid JSON. It may have been cut off.',
      line === undefined ? undefined : Number(line),
    );
  }
}

function readYaml(source: string): Parsed | { findings: ImportFinding[] } {
  // The parser recurses: it would find out by exhausting its stack, which takes seconds.
  if (flowDepth(source) > depthMax) return refused('too_complex', tooDeep);
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(source, {
      lineCounter: lines,
      version: '1.2',
      schema: 'core',
      stringKeys: true,
      logLevel: 'error',
    });
  } catch {
    // The parser recurses; text that nests thousands of levels deep exhausts the stack.
    return refused('too_complex', tooDeep);
  }
  if (document.errors.some((problem) => problem.code === 'RESOURCE_EXHAUSTION')) {
    return refused('too_complex', tooDeep);
  }
  const findings = document.errors.slice(0, 20).map((problem): ImportFinding => {
    const [headline = 'The document is not valid YAML'] = problem.message.split('\n');
    return {
      code: problem.code === 'DUPLICATE_KEY' ? 'duplicate_key' : 'syntax',
      message: headline.replace(/:$/, '.').slice(0, 300),
      path: '',
      line: problem.linePos?.[0].line ?? 1,
      severity: 'error',
    };
  });
  if (findings.length > 0) return { findings };
  try {
    return { value: document.toJS({ maxAliasCount: aliasesMax }) as unknown, isJson: false };
  } catch {
    // It refuses an alias without anchor, and more aliases than it was told to follow.
    return refused('too_complex', 'The document has YAML aliases that cannot be followed.');
  }
}

/** How many brackets are open at once at most; those in texts count too, but few stay open there. */
function flowDepth(source: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of source.matchAll(/[[\]{}]/g)) {
    depth = bracket === '[' || bracket === '{' ? depth + 1 : Math.max(0, depth - 1);
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** How many keys a value has, or undefined when it is too large or too deep; never recurses. */
function measure(root: unknown): number | undefined {
  let level: unknown[] = [root];
  let values = 1;
  let keys = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > depthMax) return undefined;
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
      if (!Array.isArray(value)) keys += inner.length;
      values += inner.length;
      if (values > valuesMax) return undefined;
      for (const item of inner) if (typeof item === 'object' && item !== null) next.push(item);
    }
    level = next;
  }
  return keys;
}

function refused(
  code: ImportCode,
  message: string,
  line?: number,
): { ok: false; findings: ImportFinding[] } {
  const place = line === undefined ? {} : { line };
  return { ok: false, findings: [{ code, message, path: '', ...place, severity: 'error' }] };
}
