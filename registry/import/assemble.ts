import { isObject } from '../domain/context.ts';
import type { JsonObject } from '../domain/context.ts';
import type { Finding } from '../domain/findings.ts';
import { SCHEMA_NODES_MAX } from '../domain/schema.ts';
import { DOCUMENT_BYTES_MAX } from '../domain/source.ts';
import { ACTIONS_MAX, COMPILED_BYTES_MAX, compileParsed } from '../domain/template.ts';
import type { ImportedOperation } from './imported.ts';
import type { ConvertedOperation } from './operations.ts';
import { shapeOf } from './paths.ts';

/** Everything of a template but its paths. */
export type Head = Readonly<JsonObject>;

const scopeParam = 'x-service-scope-param';

type Skipped = NonNullable<ImportedOperation['skipped']>;

export interface Assembly {
  /** Takes an operation in, or says why the template cannot have it. */
  add(method: string, operation: ConvertedOperation): { skipped?: Skipped; dropped: Finding[] };
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
const MISSES_MAX = 20;

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
    actions: ACTIONS_MAX,
    // The head and the punctuation between operations need room too.
    documentBytes: DOCUMENT_BYTES_MAX - 4096 - bytesOf(head),
    compiledBytes: COMPILED_BYTES_MAX - 64 * 1024 - bytesOf(head),
    schemaNodes: SCHEMA_NODES_MAX,
  };
  const judged = new Map<string, string | undefined>();
  let misses = 0;
  const add: Assembly['add'] = (method, { path, value }) => {
    const shape = `${method} ${shapeOf(path.key)}`;
    const twin = shapes.get(shape);
    if (twin !== undefined) {
      const message = `It has the same path as ${twin}, with other names in braces.`;
      return { skipped: { code: 'path_duplicate', message }, dropped: [] };
    }
    const judgement = judge(head, { key: path.key, method: method.toLowerCase(), value, judged });
    if (judgement.compiled === undefined)
      return { skipped: judgement.skipped, dropped: judgement.dropped };
    const need = {
      actions: 1,
      documentBytes: bytesOf(judgement.value) + path.key.length * 3 + 32,
      compiledBytes: bytesOf(judgement.compiled) + 160,
      schemaNodes: countObjects(judgement.value),
    };
    const resources = Object.keys(left) as (keyof typeof left)[];
    if (resources.some((resource) => need[resource] > left[resource])) {
      misses += 1;
      return { skipped: doesNotFit, dropped: [] };
    }
    misses = 0;
    for (const resource of resources) left[resource] -= need[resource];
    shapes.set(shape, path.key);
    paths[path.key] = { ...paths[path.key], [method.toLowerCase()]: judgement.value };
    return { dropped: judgement.dropped };
  };
  return {
    add,
    document: () => ({ ...head, paths }),
    get isFull() {
      return left.actions === 0 || misses >= MISSES_MAX;
    },
  };
}

interface Candidate {
  readonly key: string;
  readonly method: string;
  readonly value: JsonObject;
  /** Verdicts on the schemas of other operations. */
  readonly judged: Map<string, string | undefined>;
}

interface Judgement {
  readonly value: JsonObject;
  readonly compiled: unknown;
  readonly skipped: Skipped;
  readonly dropped: Finding[];
}

/** Optional parameters that the compiler refuses are left out; anything else makes it refuse the operation. */
function judge(head: Head, { key, method, value, judged }: Candidate): Judgement {
  const document = { ...head, paths: { [key]: { [method]: value } } };
  const { report, template } = compileParsed(document, { ...options, judged });
  const [error] = report.errors;
  if (error === undefined) {
    const [compiled] = Object.values(template?.actions ?? {});
    return { value, compiled, skipped: doesNotFit, dropped: [] };
  }
  if (report.errors.every(({ path }) => path.endsWith(`/${scopeParam}`))) {
    // It was inferred, and the compiler knows better what is a parameter.
    const { [scopeParam]: _scopeParam, ...rest } = value;
    return judge(head, { key, method, value: rest, judged });
  }
  const skipped = { code: error.code, message: error.message };
  const refused = new Map(
    report.errors.map((finding) => [
      /^\/paths\/[^/]*\/[a-z]+\/parameters\/(\d+)(?:\/|$)/.exec(finding.path)?.[1],
      finding,
    ]),
  );
  const { parameters } = value;
  const isMendable =
    Array.isArray(parameters) &&
    [...refused.keys()].every(
      (index) => index !== undefined && isOptional(parameters[Number(index)]),
    );
  if (!isMendable) return { value, compiled: undefined, skipped, dropped: [] };
  const kept = parameters.filter((_, index) => !refused.has(String(index)));
  const next = judge(head, { key, method, value: { ...value, parameters: kept }, judged });
  return { ...next, dropped: [...refused.values(), ...next.dropped] };
}

function isOptional(parameter: unknown): boolean {
  return isObject(parameter) && parameter['required'] !== true;
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
