import { LineCounter, isAlias, isMap, isNode, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node, Pair } from 'yaml';

import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from './context.ts';
import { parseExtensionName } from './extensions.ts';
import { createFindings, pointerTo } from './findings.ts';
import { findDuplicateKeys } from './duplicate-keys.ts';
import type { FindingCode, Findings, LocatePath, DocumentPath } from './findings.ts';

export const documentBytesMax = 1_048_576;

/**
 * The number of YAML aliases is limited because a few lines of nested aliases can expand to
 * gigabytes.
 */
const yamlAliasesMax = 100;
const documentNodesMax = 200_000;
const depthMax = 100;
const nestsTooDeepMessage = `The document nests deeper than ${depthMax} levels. Flatten it.`;

/** Keys that are properties of all JavaScript objects; no template needs them. */
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

export interface ParsedSource {
  /** The parsed document; undefined when the text cannot be parsed, and the findings say why. */
  readonly value: JsonValue | undefined;
  readonly findings: Findings;
}

/** The most duplicate keys that are reported. */
const duplicateKeysMax = 20;

/**
 * Parses YAML or JSON (a subset of YAML 1.2) into plain data, and remembers the line of each value.
 */
export function parseSource(text: string): ParsedSource {
  if (text.length > documentBytesMax || Buffer.byteLength(text) > documentBytesMax) {
    return createRefusedSource(
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
      uniqueKeys: false,
      logLevel: 'error',
    });
  } catch {
    // The parser recurses, so text with thousands of levels exhausts the stack.
    return createRefusedSource('too_complex', nestsTooDeepMessage);
  }
  const findings = createFindings(createLocate(document, lines));
  reportSyntax(document, findings);
  for (const { message, line } of findDuplicateKeys(document, { lines, max: duplicateKeysMax }))
    findings.errorAtLine('duplicate_key', line, message);
  reportContents(document, findings);
  if (!findings.report().valid) return { value: undefined, findings };
  return { value: toPlainData(document, findings), findings };
}

function createRefusedSource(code: FindingCode, message: string): ParsedSource {
  const findings = createFindings((path) => ({ pointer: pointerTo(path), line: null }));
  findings.error(code, [], message);
  return { value: undefined, findings };
}

function reportSyntax(document: Document.Parsed, findings: Findings): void {
  const problems = [...document.errors, ...document.warnings];
  if (problems.some((problem) => problem.code === 'RESOURCE_EXHAUSTION')) {
    findings.error('too_complex', [], nestsTooDeepMessage);
    return;
  }
  for (const problem of problems) {
    const [headline = 'The document is not valid YAML'] = problem.message.split('\n');
    // A document with syntax errors is not parsed, so only the line is known and no path.
    findings.errorAtLine('syntax', problem.linePos?.[0].line ?? 1, headline.replace(/:$/, '.'));
  }
}

function reportContents(document: Document.Parsed, findings: Findings): void {
  visit(document, {
    Pair(_, pair, ancestors) {
      const key = keyTextOf(pair);
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
    value = document.toJS({ maxAliasCount: yamlAliasesMax });
  } catch {
    // `toJS` throws only when the document has more aliases than the limit.
    findings.error(
      'too_complex',
      [],
      'Replace the YAML aliases by "$ref", or by what they stand for.',
    );
    return undefined;
  }
  const budget = { nodes: documentNodesMax };
  return isPlainJson(value, [], { findings, budget }) ? value : undefined;
}

interface Inspection {
  readonly findings: Findings;
  readonly budget: { nodes: number };
}

/**
 * Whether a value is JSON within the size limits. A structure that contains itself exceeds them.
 */
function isPlainJson(
  value: unknown,
  path: DocumentPath,
  inspection: Inspection,
): value is JsonValue {
  const { findings, budget } = inspection;
  budget.nodes -= 1;
  if (budget.nodes < 0 || path.length > depthMax) {
    findings.error(
      'too_complex',
      path.slice(0, 3),
      `The document unfolds to more than ${documentNodesMax} values or nests deeper than ${depthMax} levels. Keep only the operations you need.`,
    );
    return false;
  }
  if (Array.isArray(value)) {
    return value.every((item, index) => isPlainJson(item, [...path, index], inspection));
  }
  if (isObject(value) && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.entries(value).every(([key, item]) =>
      isPlainJson(item, [...path, key], inspection),
    );
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

/**
 * Creates the function that finds the text of a path in the parsed document, also when the author
 * wrote an extension in a form other than the canonical one.
 */
function createLocate(document: Document.Parsed, lines: LineCounter): LocatePath {
  return (path) => {
    const pathAsWritten: (string | number)[] = [];
    let node: Node | null = document.contents;
    let offset = node?.range?.[0] ?? 0;
    for (const step of path) {
      const childNode = childOf(document, node, step);
      pathAsWritten.push(childNode?.key ?? step);
      node = childNode?.value ?? null;
      offset = childNode?.offset ?? offset;
    }
    return { pointer: pointerTo(pathAsWritten), line: lines.linePos(offset).line };
  };
}

interface ChildNode {
  readonly key: string | number;
  readonly value: Node | null;
  readonly offset: number | undefined;
}

function childOf(
  document: Document.Parsed,
  parent: Node | null,
  step: string | number,
): ChildNode | undefined {
  const node = isAlias(parent) ? parent.resolve(document) : parent;
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step];
    return isNode(item) ? { key: step, value: item, offset: item.range?.[0] } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pairs = node.items;
  const pair =
    pairs.find((candidate) => keyTextOf(candidate) === String(step)) ??
    pairs.find((candidate) => canonicalKey(keyTextOf(candidate)) === String(step));
  if (pair === undefined) return undefined;
  const offset = isNode(pair.key) ? pair.key.range?.[0] : undefined;
  return { key: keyTextOf(pair), value: isNode(pair.value) ? pair.value : null, offset };
}

function canonicalKey(key: string): string {
  const extension = parseExtensionName(key);
  return extension === undefined ? key : `x-service-${extension.name}`;
}

function keyTextOf(pair: Pair): string {
  return String(isScalar(pair.key) ? pair.key.value : pair.key);
}

function pathOf(ancestors: readonly unknown[]): DocumentPath {
  const path: (string | number)[] = [];
  ancestors.forEach((ancestor, index) => {
    const child = ancestors[index + 1];
    if (isSeq(ancestor)) path.push(ancestor.items.indexOf(child));
    else if (typeof ancestor === 'object' && ancestor !== null && 'key' in ancestor) {
      path.push(keyTextOf(ancestor as Pair));
    }
  });
  return path;
}
