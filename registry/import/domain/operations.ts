import type { HttpMethod } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { convertBody } from './bodies.ts';
import type { Inference } from './imported.ts';
import {
  inferResponseType,
  inferRisk,
  inferScopeParam,
  inferSummary,
  riskOfMethod,
} from './infer.ts';
import { nameOperations } from './operation-ids.ts';
import { convertParameters } from './parameters.ts';
import { readPath } from './paths.ts';
import type { OperationPath } from './paths.ts';
import type { SchemaBudget, WorkBudget } from './schemas.ts';
import { convertRequirements } from './security.ts';
import type { Schemes } from './security.ts';
import { chooseSentences } from './sentences.ts';
import type { OperationWords } from './sentences.ts';
import { followReference, objectAt, textAt } from './source.ts';
import type { ImportSource } from './source.ts';

const pathCharactersMax = 2000;
const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete', 'trace'] as const;

/**
 * The largest number of schema nodes in one operation. In a larger one, the deepest levels are cut,
 * and accept any value.
 */
const operationSchemaNodesMax = 2_000;
const operationBytesMax = 64 * 1024;
/**
 * The depth limit of the first attempt. No known document has a deeper schema, so the first attempt
 * cuts nothing.
 */
const unfoldDepthMax = 40;
/** The largest depth limit for an operation that is too large without one. */
const cutDepthMax = 8;
/** The smallest depth limit: only the types of schemas remain, so a smaller one would not help. */
const cutDepthMin = -1;
/**
 * The work of one import, counted in schemas; it takes about two seconds. Operations after this
 * limit keep only a few levels of their schemas.
 */
export const importWorkMax = 2_000_000;
/** The largest number of operations. The largest known document, Microsoft Graph, has 22,361. */
const operationsMax = 30_000;

/** An operation that the source document contains. */
export interface FoundOperation {
  readonly method: HttpMethod | 'TRACE';
  /** The key of the operation's path under `paths` in the source. */
  readonly path: string;
  readonly pathItem: DocumentNode<JsonObject>;
  readonly operation: DocumentNode<JsonObject>;
  readonly givenId: string | undefined;
  readonly operationId: string;
  readonly words: OperationWords;
}

/**
 * Lists the operations of the document in their order, each with an id; undefined when there are
 * too many.
 */
export function findOperations(source: ImportSource): FoundOperation[] | undefined {
  const operations = Object.entries(objectAt(source.document, 'paths')).flatMap(([path, value]) => {
    if (path.startsWith('x-')) return [];
    const pathItem =
      path.length > pathCharactersMax
        ? undefined
        : followReference(source, { value, path: ['paths', path] });
    if (pathItem === undefined) {
      source.notes.warn('path_invalid', ['paths', path], 'This is no path with operations.');
      return [];
    }
    return methods.flatMap((name) => {
      const operation = Object.hasOwn(pathItem.value, name) ? pathItem.value[name] : undefined;
      if (!isObject(operation)) {
        const path = [...pathItem.path, name];
        if (operation !== undefined)
          source.notes.warn('operation_malformed', path, 'This is no operation.');
        return [];
      }
      const operationNode = { value: operation, path: [...pathItem.path, name] };
      const method = name.toUpperCase() as FoundOperation['method'];
      return [
        {
          method,
          path,
          pathItem,
          operation: operationNode,
          givenId: textAt(operation, 'operationId'),
        },
      ];
    });
  });
  if (operations.length > operationsMax) {
    const message = `The document has more than ${operationsMax} operations. Cut it down.`;
    source.notes.error('too_complex', ['paths'], message);
    return undefined;
  }
  const ids = nameOperations(operations);
  const words = chooseSentences(operations.map(({ operation }) => operation.value));
  return operations.map((operation, index) => ({
    ...operation,
    operationId: ids[index]!,
    words: words[index]!,
  }));
}

export interface ConvertedOperation {
  readonly path: OperationPath;
  /** The Operation Object for the template. */
  readonly value: JsonObject;
  readonly inferred: Inference[];
}

/** Converts one operation; throws `SkipOperation` when a template cannot express it. */
export function convertOperation(
  source: ImportSource,
  operation: FoundOperation & { readonly method: HttpMethod },
  { schemes, work }: { schemes: Schemes; work: WorkBudget },
): ConvertedOperation {
  const path = readPath(operation.path);
  const attemptConversion = (depthMax: number) => {
    const budget = { nodes: operationSchemaNodesMax, depthMax, isCut: false, opened: 0, work };
    const converted = convertWithinBudget(source, operation, { path, schemes, budget });
    const isWithinBudget =
      budget.nodes >= 0 && JSON.stringify(converted.value).length <= operationBytesMax;
    return { converted, fits: isWithinBudget, depthMax, isCut: budget.isCut };
  };
  const uncutAttempt = work.left > 0 ? attemptConversion(unfoldDepthMax) : undefined;
  const bestAttempt =
    uncutAttempt?.fits === true ? uncutAttempt : findDeepestThatFits(attemptConversion);
  if (bestAttempt.isCut) {
    const message = `The schemas unfold very far; below level ${Math.max(0, bestAttempt.depthMax)} any value is accepted.`;
    source.notes.info('schema_opened', operation.operation.path, message);
  }
  return bestAttempt.converted;
}

/**
 * Finds the largest depth limit with which the operation fits, by bisection: the smaller the limit,
 * the smaller the operation.
 */
function findDeepestThatFits<Attempt extends { readonly fits: boolean }>(
  attemptConversion: (depthMax: number) => Attempt,
): Attempt {
  let bestAttempt = attemptConversion(cutDepthMin);
  let low = cutDepthMin + 1;
  let high = cutDepthMax;
  while (low <= high) {
    const middle = Math.ceil((low + high) / 2);
    const middleAttempt = attemptConversion(middle);
    if (middleAttempt.fits) {
      bestAttempt = middleAttempt;
      low = middle + 1;
    } else high = middle - 1;
  }
  return bestAttempt;
}

interface Conversion {
  readonly path: OperationPath;
  readonly schemes: Schemes;
  readonly budget: SchemaBudget;
}

function convertWithinBudget(
  source: ImportSource,
  importedOperation: FoundOperation & { readonly method: HttpMethod },
  { path, schemes, budget }: Conversion,
): ConvertedOperation {
  const { method, operation, operationId } = importedOperation;
  const parameters = convertParameters(source, { ...importedOperation, path, schemes }, budget);
  const body = convertBody(source, operation, { method, budget });
  const { requestBody } = body;
  const { words } = importedOperation;
  const inferredSummary = inferSummary({
    operationId,
    path: path.sentPath,
    words,
    parameters: parameters.list,
  });
  const risk = inferRisk(method, descriptiveTextsOf(operationId, path));
  const scopeParam = inferScopeParam(parameters.list, { path: path.sentPath, requestBody });
  const responseType = inferResponseType(source, operation);
  const securityNode = {
    value: operation.value['security'],
    path: [...operation.path, 'security'],
  };
  const security = convertRequirements(source, securityNode, schemes);
  const inferences: Inference[] = [
    ...(importedOperation.givenId === operationId ? [] : (['operation_id'] as const)),
    ...(inferredSummary.isInferred ? (['summary'] as const) : []),
    ...(risk === riskOfMethod(method) ? [] : (['risk'] as const)),
    ...(scopeParam === undefined ? [] : (['scope_param'] as const)),
    ...(responseType === 'json' ? [] : (['response_type'] as const)),
    ...parameters.inferred,
    ...body.inferred,
  ];
  const value: JsonObject = {
    operationId,
    summary: inferredSummary.summary,
    ...(words.isDeprecated && { deprecated: true }),
    ...(risk !== riskOfMethod(method) && { 'x-service-risk': risk }),
    ...(scopeParam !== undefined && { 'x-service-scope-param': scopeParam }),
    ...(responseType !== 'json' && { 'x-service-response-type': responseType }),
    ...(security !== undefined && { security }),
    ...(parameters.list.length > 0 && { parameters: parameters.list }),
    ...(requestBody !== undefined && { requestBody }),
  };
  return { path, value, inferred: inferences };
}

/**
 * The texts that tell what an operation does: its id, the last fixed segment of its path, and the
 * constants in its path that select the operation.
 */
export function descriptiveTextsOf(
  operationId: string,
  { sentPath: sent, labelValues: label, query }: OperationPath,
): string[] {
  const lastFixedSegment = sent
    .split('/')
    .findLast((segment) => segment !== '' && !segment.includes('{'));
  return [operationId, lastFixedSegment ?? '', ...Object.values(label), ...Object.values(query)];
}
