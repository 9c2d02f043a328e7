import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject } from '../domain/context.ts';
import type { Finding } from '../domain/findings.ts';
import { schemaNodesMax } from '../domain/schema.ts';
import { documentBytesMax } from '../domain/source.ts';
import { actionsMax, compiledBytesMax, compileParsed } from '../domain/template.ts';
import type { ImportedOperation } from './imported.ts';
import type { ConvertedOperation } from './operations.ts';
import { shapeOf } from './paths.ts';
import { textAt } from './source.ts';

/** Everything of a template but its paths. */
export type Head = Readonly<JsonObject>;

export const scopeParam = 'x-service-scope-param';

type Skipped = NonNullable<ImportedOperation['skipped']>;

/** What the compiler made of an operation. */
export interface Verdict {
  /** As it is in the template. */
  readonly value: JsonObject;
  readonly skipped?: Skipped;
  /** Parameters without which it compiles, or that it ignores. */
  readonly dropped: readonly { readonly name: string; readonly finding: Finding }[];
}

export interface Assembly {
  /** Takes an operation in, or says why the template cannot have it. */
  add(method: string, operation: ConvertedOperation): Verdict;
  document(): JsonObject;
  /** Nothing more will fit; asking again costs time only. */
  readonly isFull: boolean;
}

const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;
export const doesNotFit: Skipped = {
  code: 'does_not_fit',
  message: 'The template is full. Select fewer operations, or import the rest as another template.',
};

/** So many in a row did not fit that looking for a smaller one is not worth it. */
const missesMax = 20;

/** Why a template without operations would not compile; undefined when it does. */
export function checkHead(head: Head): Finding | undefined {
  return compileParsed({ ...head, paths: {} }, options).report.errors[0];
}

/**
 * Builds the template document operation by operation. The compiler judges each of them alone, so
 * that one it refuses is left out, and the document as a whole is one it accepts.
 */
export function createAssembly(head: Head): Assembly {
  const paths: Record<string, JsonObject> = {};
  const shapes = new Map<string, string>();
  const left = {
    actions: actionsMax,
    // The head and the punctuation between operations need room too.
    documentBytes: documentBytesMax - 4096 - bytesOf(head),
    compiledBytes: compiledBytesMax - 64 * 1024 - bytesOf(head),
    schemaNodes: schemaNodesMax,
  };
  const judged = new Map<string, string | undefined>();
  let misses = 0;
  const add: Assembly['add'] = (method, { path, value: given }) => {
    const shape = `${method} ${shapeOf(path.key)}`;
    const twin = shapes.get(shape);
    if (twin !== undefined) {
      const message = `It has the same path as ${twin}, with other names in braces.`;
      return { value: given, skipped: { code: 'path_duplicate', message }, dropped: [] };
    }
    const candidate = { key: path.key, method: method.toLowerCase(), value: given };
    const { compiled, ...verdict } = judge(head, candidate, judged);
    if (compiled === undefined) return verdict;
    const { value } = verdict;
    const need = {
      actions: 1,
      documentBytes: bytesOf(value) + path.key.length * 3 + 32,
      compiledBytes: bytesOf(compiled) + 160,
      schemaNodes: countObjects(value),
    };
    const resources = Object.keys(left) as (keyof typeof left)[];
    if (resources.some((resource) => need[resource] > left[resource])) {
      misses += 1;
      return { ...verdict, skipped: doesNotFit };
    }
    misses = 0;
    for (const resource of resources) left[resource] -= need[resource];
    shapes.set(shape, path.key);
    paths[path.key] = { ...paths[path.key], [candidate.method]: value };
    return verdict;
  };
  return {
    add,
    document: () => ({ ...head, paths }),
    get isFull() {
      return left.actions === 0 || misses >= missesMax;
    },
  };
}

interface Candidate {
  readonly key: string;
  readonly method: string;
  readonly value: JsonObject;
}

/**
 * Parameters that the compiler ignores, and optional ones that it refuses, are left out. Anything
 * else that it refuses is a reason to skip the operation.
 */
function judge(
  head: Head,
  { key, method, value }: Candidate,
  judged: Map<string, string | undefined>,
): Verdict & { readonly compiled?: unknown } {
  const document = { ...head, paths: { [key]: { [method]: value } } };
  const { report, template } = compileParsed(document, { ...options, judged });
  const parameters = Array.isArray(value['parameters']) ? value['parameters'] : [];
  const ignored = report.warnings.filter(({ code }) => code === 'parameter_ignored');
  const dropped = new Map<JsonValue, Finding>();
  for (const finding of [...ignored, ...report.errors]) {
    const isScope = finding.path.endsWith(`/${scopeParam}`);
    const parameter = parameters[parameterIndex(finding)] ?? null;
    const isDroppable =
      isObject(parameter) && (parameter['required'] !== true || ignored.includes(finding));
    if (isDroppable) dropped.set(parameter, finding);
    else if (!isScope) {
      return { value, skipped: { code: finding.code, message: finding.message }, dropped: [] };
    }
  }
  if (report.valid && dropped.size === 0) {
    return { value, dropped: [], compiled: Object.values(template?.actions ?? {})[0] };
  }
  const kept = parameters.filter((parameter) => !dropped.has(parameter));
  const { [scopeParam]: scope, parameters: _parameters, ...rest } = value;
  // It was inferred, and the compiler knows better what is a parameter.
  const isScopeWrong = report.errors.some(({ path }) => path.endsWith(`/${scopeParam}`));
  const mended = {
    ...rest,
    ...(scope !== undefined && !isScopeWrong && { [scopeParam]: scope }),
    ...(kept.length > 0 && { parameters: kept }),
  };
  const next = judge(head, { key, method, value: mended }, judged);
  const named = [...dropped].map(([parameter, finding]) => ({
    name: (isObject(parameter) && textAt(parameter, 'name')) || '',
    finding,
  }));
  return { ...next, dropped: [...named, ...next.dropped] };
}

/** Which parameter of an operation a finding is about. */
function parameterIndex({ path }: Finding): number {
  return Number(/^\/paths\/[^/]*\/[a-z]+\/parameters\/(\d+)(?:\/|$)/.exec(path)?.[1] ?? -1);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** No fewer than the schemas in it. */
function countObjects(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countObjects(item), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countObjects(item), 1);
}
