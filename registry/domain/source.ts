import { LineCounter, isAlias, isMap, isNode, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node, Pair } from 'yaml';

import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from './context.ts';
import { extensionName } from './extensions.ts';
import { createFindings, pointerTo } from './findings.ts';
import type { FindingCode, Findings, Locate, Path } from './findings.ts';

export const documentBytesMax = 1_048_576;

/** Aliases are allowed, but what they unfold to is limited: a few lines can otherwise unfold to gigabytes. */
const aliasesMax = 100;
const nodesMax = 200_000;
const depthMax = 100;
const nestsTooDeep = `The document nests deeper than ${depthMax} levels. Flatten it.`;

/** Keys that mean something to JavaScript objects; no template needs them. */
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

export interface Source {
  /** Undefined when the text cannot be read at all; the findings then say why. */
  readonly value: JsonValue | undefined;
  readonly findings: Findings;
}

/** Reads YAML or JSON (which YAML 1.2 contains) into plain data, keeping track of lines. */
export function parseSource(text: string): Source {
  if (text.length > documentBytesMax || Buffer.byteLength(text) > documentBytesMax) {
    return refused(
      'too_large',
      'The document is larger than 1 MiB. Keep only the operations you need.',
    );
  }
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      version: '1.2',
      schema: 'core',
      stringKeys: true,
      logLevel: 'error',
    });
  } catch {
    // The parser recurses; text that nests thousands of levels deep exhausts the stack.
    return refused('too_complex', nestsTooDeep);
  }
  const findings = createFindings(locator(document, lines));
  reportSyntax(document, findings);
  reportContents(document, findings);
  if (!findings.report().valid) return { value: undefined, findings };
  return { value: toPlainData(document, findings), findings };
}

function refused(code: FindingCode, message: string): Source {
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  findings.error(code, [], message);
  return { value: undefined, findings };
}

function reportSyntax(document: Document.Parsed, findings: Findings): void {
  const problems = [...document.errors, ...document.warnings];
  if (problems.some((problem) => problem.code === 'RESOURCE_EXHAUSTION')) {
    findings.error('too_complex', [], nestsTooDeep);
    return;
  }
  for (const problem of problems) {
    const code = problem.code === 'DUPLICATE_KEY' ? 'duplicate_key' : 'syntax';
    const [headline = 'The document is not valid YAML'] = problem.message.split('\n');
    // A broken document has no path to point to, only a line.
    findings.errorAtLine(code, problem.linePos?.[0].line ?? 1, headline.replace(/:$/, '.'));
  }
}

function reportContents(document: Document.Parsed, findings: Findings): void {
  visit(document, {
    Pair(_, pair, ancestors) {
      const key = keyOf(pair);
      if (!forbiddenKeys.has(key)) return;
      findings.error('forbidden_key', [...pathOf(ancestors), key], `Rename the key "${key}".`);
    },
    Alias(_, alias, ancestors) {
      if (alias.resolve(document) !== undefined) return;
      findings.error('syntax', pathOf(ancestors), `Nothing is anchored as "&${alias.source}".`);
    },
  });
}

function toPlainData(document: Document.Parsed, findings: Findings): JsonValue | undefined {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: aliasesMax });
  } catch {
    // The only thing toJS refuses is more aliases than it was told to follow.
    findings.error(
      'too_complex',
      [],
      'Replace the YAML aliases by "$ref", or by what they stand for.',
    );
    return undefined;
  }
  const budget = { nodes: nodesMax };
  return isPlain(value, [], { findings, budget }) ? value : undefined;
}

interface Inspection {
  readonly findings: Findings;
  readonly budget: { nodes: number };
}

/** Whether a value is JSON of a bearable size; also stops at structures that contain themselves. */
function isPlain(value: unknown, path: Path, inspection: Inspection): value is JsonValue {
  const { findings, budget } = inspection;
  budget.nodes -= 1;
  if (budget.nodes < 0 || path.length > depthMax) {
    findings.error(
      'too_complex',
      path.slice(0, 3),
      `The document unfolds to more than ${nodesMax} values or nests deeper than ${depthMax} levels. Keep only the operations you need.`,
    );
    return false;
  }
  if (Array.isArray(value)) {
    return value.every((item, index) => isPlain(item, [...path, index], inspection));
  }
  if (isObject(value) && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.entries(value).every(([key, item]) => isPlain(item, [...path, key], inspection));
  }
  const isJson =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value));
  if (!isJson)
    findings.error('not_json', path, 'Write a value that JSON has too; put it in quotes.');
  return isJson;
}

/** Walks the parsed document along a path, accepting the author's own spelling of an extension. */
function locator(document: Document.Parsed, lines: LineCounter): Locate {
  return (path) => {
    const spelled: (string | number)[] = [];
    let node: Node | null = document.contents;
    let offset = node?.range?.[0] ?? 0;
    for (const step of path) {
      const found = childOf(document, node, step);
      spelled.push(found?.key ?? step);
      node = found?.value ?? null;
      offset = found?.offset ?? offset;
    }
    return { pointer: pointerTo(spelled), line: lines.linePos(offset).line };
  };
}

interface Child {
  readonly key: string | number;
  readonly value: Node | null;
  readonly offset: number | undefined;
}

function childOf(
  document: Document.Parsed,
  parent: Node | null,
  step: string | number,
): Child | undefined {
  const node = isAlias(parent) ? parent.resolve(document) : parent;
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step];
    return isNode(item) ? { key: step, value: item, offset: item.range?.[0] } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pairs = node.items;
  const pair =
    pairs.find((candidate) => keyOf(candidate) === String(step)) ??
    pairs.find((candidate) => canonicalKey(keyOf(candidate)) === String(step));
  if (pair === undefined) return undefined;
  const offset = isNode(pair.key) ? pair.key.range?.[0] : undefined;
  return { key: keyOf(pair), value: isNode(pair.value) ? pair.value : null, offset };
}

function canonicalKey(key: string): string {
  const extension = extensionName(key);
  return extension === undefined ? key : `x-service-${extension.name}`;
}

function keyOf(pair: Pair): string {
  return String(isScalar(pair.key) ? pair.key.value : pair.key);
}

function pathOf(ancestors: readonly unknown[]): Path {
  const path: (string | number)[] = [];
  ancestors.forEach((ancestor, index) => {
    const child = ancestors[index + 1];
    if (isSeq(ancestor)) path.push(ancestor.items.indexOf(child));
    else if (typeof ancestor === 'object' && ancestor !== null && 'key' in ancestor) {
      path.push(keyOf(ancestor as Pair));
    }
  });
  return path;
}
