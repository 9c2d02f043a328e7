import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject } from '../../document/domain/context.ts';
import type { Finding } from '../../document/domain/findings.ts';
import { schemaNodesMax } from '../../document/domain/schema.ts';
import { documentBytesMax } from '../../document/domain/source.ts';
import { actionsMax, compiledBytesMax, compileParsed } from '../../compiler/domain/template.ts';
import type { ImportedOperation } from './imported.ts';
import type { ConvertedOperation } from './operations.ts';
import { shapeOf } from './paths.ts';
import { textAt } from './source.ts';

/** The template document without its `paths`. */
export type TemplateWithoutPaths = Readonly<JsonObject>;

export const scopeExtension = 'x-service-scope-param';

type SkipReason = NonNullable<ImportedOperation['skipped']>;

/** The result of compiling one operation. */
export interface OperationResult {
  /** The Operation Object as it appears in the template. */
  readonly value: JsonObject;
  readonly skipped?: SkipReason;
  /**
   * Parameters that were left out: the compiler ignores or refuses them, and the operation works
   * without them.
   */
  readonly dropped: readonly { readonly name: string; readonly finding: Finding }[];
}

export interface Assembly {
  /**
   * Adds an operation to the template. `skipped` in the result says why the template cannot have
   * it.
   */
  add(method: string, operation: ConvertedOperation): OperationResult;
  document(): JsonObject;
  /** Whether the template is full, so that adding further operations would only cost time. */
  readonly isFull: boolean;
}

const draftOptions = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;
export const doesNotFitReason: SkipReason = {
  code: 'does_not_fit',
  message: 'The template is full. Select fewer operations, or import the rest as another template.',
};

/** After this many operations in a row that did not fit, the template counts as full. */
const missesInARowMax = 20;

/**
 * The first error of a template that has this head and no operations; undefined when it compiles.
 */
export function checkHead(head: TemplateWithoutPaths): Finding | undefined {
  return compileParsed({ ...head, paths: {} }, draftOptions).report.errors[0];
}

/**
 * Builds the template document operation by operation. Each operation is compiled alone, so that an
 * operation which the compiler refuses is left out and the rest of the document still compiles.
 */
export function createAssembly(head: TemplateWithoutPaths): Assembly {
  const paths: Record<string, JsonObject> = {};
  const idsByShape = new Map<string, string>();
  const budgetLeft = {
    actions: actionsMax,
    // The limit minus the space for the head and for the punctuation between operations.
    documentBytes: documentBytesMax - 4096 - bytesOf(head),
    compiledBytes: compiledBytesMax - 64 * 1024 - bytesOf(head),
    schemaNodes: schemaNodesMax,
  };
  const checkedSchemas = new Map<string, string | undefined>();
  let misses = 0;
  const addOperation: Assembly['add'] = (method, { path, value: givenValue }) => {
    const shape = `${method} ${shapeOf(path.key)}`;
    const sameShapeId = idsByShape.get(shape);
    if (sameShapeId !== undefined) {
      const message = `It has the same path as ${sameShapeId}, with other names in braces.`;
      return { value: givenValue, skipped: { code: 'path_duplicate', message }, dropped: [] };
    }
    const candidate = { key: path.key, method: method.toLowerCase(), value: givenValue };
    const { compiled, ...verdict } = compileOperation(head, candidate, checkedSchemas);
    if (compiled === undefined) return verdict;
    const { value } = verdict;
    const neededSpace = {
      actions: 1,
      documentBytes: bytesOf(value) + path.key.length * 3 + 32,
      compiledBytes: bytesOf(compiled) + 160,
      schemaNodes: countObjects(value),
    };
    const resources = Object.keys(budgetLeft) as (keyof typeof budgetLeft)[];
    if (resources.some((resource) => neededSpace[resource] > budgetLeft[resource])) {
      misses += 1;
      return { ...verdict, skipped: doesNotFitReason };
    }
    misses = 0;
    for (const resource of resources) budgetLeft[resource] -= neededSpace[resource];
    idsByShape.set(shape, path.key);
    paths[path.key] = { ...paths[path.key], [candidate.method]: value };
    return verdict;
  };
  return {
    add: addOperation,
    document: () => ({ ...head, paths }),
    get isFull() {
      return budgetLeft.actions === 0 || misses >= missesInARowMax;
    },
  };
}

interface Candidate {
  readonly key: string;
  readonly method: string;
  readonly value: JsonObject;
}

/**
 * Compiles one operation. Leaves out parameters that the compiler ignores, and optional parameters
 * that it refuses. Skips the operation for any other error, unless leaving out the scope parameter
 * corrects it.
 */
function compileOperation(
  head: TemplateWithoutPaths,
  { key, method, value }: Candidate,
  checkedSchemas: Map<string, string | undefined>,
): OperationResult & { readonly compiled?: unknown } {
  const document = { ...head, paths: { [key]: { [method]: value } } };
  const { report, template } = compileParsed(document, { ...draftOptions, checkedSchemas });
  const parameters = Array.isArray(value['parameters']) ? value['parameters'] : [];
  const ignoredFindings = report.warnings.filter(({ code }) => code === 'parameter_ignored');
  const dropped = new Map<JsonValue, Finding>();
  for (const finding of [...ignoredFindings, ...report.errors]) {
    const isScopeFinding = finding.path.endsWith(`/${scopeExtension}`);
    const parameter = parameters[parameterIndex(finding)] ?? null;
    const isDroppable =
      isObject(parameter) && (parameter['required'] !== true || ignoredFindings.includes(finding));
    if (isDroppable) dropped.set(parameter, finding);
    else if (!isScopeFinding) {
      return { value, skipped: { code: finding.code, message: finding.message }, dropped: [] };
    }
  }
  if (report.valid && dropped.size === 0) {
    return { value, dropped: [], compiled: Object.values(template?.actions ?? {})[0] };
  }
  const keptParameters = parameters.filter((parameter) => !dropped.has(parameter));
  const { [scopeExtension]: scopeField, parameters: _parameters, ...rest } = value;
  // The import only inferred the scope parameter, so it is left out when the compiler refuses it.
  const isScopeWrong = report.errors.some(({ path }) => path.endsWith(`/${scopeExtension}`));
  const correctedOperation = {
    ...rest,
    ...(scopeField !== undefined && !isScopeWrong && { [scopeExtension]: scopeField }),
    ...(keptParameters.length > 0 && { parameters: keptParameters }),
  };
  const correctedResult = compileOperation(
    head,
    { key, method, value: correctedOperation },
    checkedSchemas,
  );
  const droppedNames = [...dropped].map(([parameter, finding]) => ({
    name: (isObject(parameter) && textAt(parameter, 'name')) || '',
    finding,
  }));
  return { ...correctedResult, dropped: [...droppedNames, ...correctedResult.dropped] };
}

/** The index of the parameter to which a finding points; -1 when it points elsewhere. */
function parameterIndex({ path }: Finding): number {
  return Number(/^\/paths\/[^/]*\/[a-z]+\/parameters\/(\d+)(?:\/|$)/.exec(path)?.[1] ?? -1);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/**
 * Counts the objects in a value. A schema is an object, so the value has at most as many schemas.
 */
function countObjects(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countObjects(item), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countObjects(item), 1);
}
