import type { HttpMethod } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
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
import type { SchemaBudget, Work } from './schemas.ts';
import { convertRequirements } from './security.ts';
import type { Schemes } from './security.ts';
import { follow, objectAt, textAt } from './source.ts';
import type { Source } from './source.ts';

const pathCharactersMax = 2000;
const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete', 'trace'] as const;

/** What the schemas of one operation may unfold to; beyond, the deepest levels are left open. */
const nodesMax = 2_000;
const operationBytesMax = 64 * 1024;
/** Deeper than schemas are in earnest: none is cut there. */
const unfoldDepthMax = 40;
/** Where those that unfold too far are cut at most. */
const cutDepthMax = 8;
/** Below this there is nothing left to cut: every schema is no more than its type. */
const cutDepthMin = -1;
/** About two seconds. Operations after that get by with few levels. */
export const workMax = 2_000_000;
/** Microsoft Graph, the largest document known, has 22,361. */
const operationsMax = 30_000;

/** An operation as it stands in the source. */
export interface FoundOperation {
  readonly method: HttpMethod | 'TRACE';
  /** Key under `paths` in the source. */
  readonly path: string;
  readonly pathItem: Place<JsonObject>;
  readonly operation: Place<JsonObject>;
  readonly givenId: string | undefined;
  readonly operationId: string;
}

/** Every operation of the document, in its order, each with an id; undefined when there are too many. */
export function findOperations(source: Source): FoundOperation[] | undefined {
  const found = Object.entries(objectAt(source.document, 'paths')).flatMap(([path, value]) => {
    if (path.startsWith('x-')) return [];
    const pathItem =
      path.length > pathCharactersMax
        ? undefined
        : follow(source, { value, path: ['paths', path] });
    if (pathItem === undefined) {
      source.notes.warn('path_invalid', ['paths', path], 'This is no path with operations.');
      return [];
    }
    return methods.flatMap((name) => {
      const operation = Object.hasOwn(pathItem.value, name) ? pathItem.value[name] : undefined;
      if (!isObject(operation)) {
        const at = [...pathItem.path, name];
        if (operation !== undefined)
          source.notes.warn('operation_malformed', at, 'This is no operation.');
        return [];
      }
      const place = { value: operation, path: [...pathItem.path, name] };
      const method = name.toUpperCase() as FoundOperation['method'];
      return [
        { method, path, pathItem, operation: place, givenId: textAt(operation, 'operationId') },
      ];
    });
  });
  if (found.length > operationsMax) {
    const message = `The document has more than ${operationsMax} operations. Cut it down.`;
    source.notes.error('too_complex', ['paths'], message);
    return undefined;
  }
  const ids = nameOperations(found);
  return found.map((operation, index) => ({ ...operation, operationId: ids[index]! }));
}

export interface ConvertedOperation {
  readonly path: OperationPath;
  /** The Operation Object of the template. */
  readonly value: JsonObject;
  readonly inferred: Inference[];
}

/** One operation as a template has it; throws `Skip` where that cannot be. */
export function convertOperation(
  source: Source,
  found: FoundOperation & { readonly method: HttpMethod },
  { schemes, work }: { schemes: Schemes; work: Work },
): ConvertedOperation {
  const path = readPath(found.path);
  const attempt = (depthMax: number) => {
    const budget = { nodes: nodesMax, depthMax, isCut: false, opened: 0, work };
    const converted = convertWithin(source, found, { path, schemes, budget });
    const fits = budget.nodes >= 0 && JSON.stringify(converted.value).length <= operationBytesMax;
    return { converted, fits, depthMax, isCut: budget.isCut };
  };
  const whole = work.left > 0 ? attempt(unfoldDepthMax) : undefined;
  const best = whole?.fits === true ? whole : deepestThatFits(attempt);
  if (best.isCut) {
    const message = `The schemas unfold very far; below level ${Math.max(0, best.depthMax)} any value is accepted.`;
    source.notes.info('schema_opened', found.operation.path, message);
  }
  return best.converted;
}

/** By bisection: deeper is more. */
function deepestThatFits<Attempt extends { readonly fits: boolean }>(
  attempt: (depthMax: number) => Attempt,
): Attempt {
  let best = attempt(cutDepthMin);
  let low = cutDepthMin + 1;
  let high = cutDepthMax;
  while (low <= high) {
    const middle = Math.ceil((low + high) / 2);
    const tried = attempt(middle);
    if (tried.fits) {
      best = tried;
      low = middle + 1;
    } else high = middle - 1;
  }
  return best;
}

interface Conversion {
  readonly path: OperationPath;
  readonly schemes: Schemes;
  readonly budget: SchemaBudget;
}

function convertWithin(
  source: Source,
  found: FoundOperation & { readonly method: HttpMethod },
  { path, schemes, budget }: Conversion,
): ConvertedOperation {
  const { method, operation, operationId } = found;
  const parameters = convertParameters(source, { ...found, path, schemes }, budget);
  const body = convertBody(source, operation, { method, budget });
  const { requestBody } = body;
  const names = inferSummary(operation.value, { operationId, parameters: parameters.list });
  const risk = inferRisk(method, namesOf(operationId, path));
  const scopeParam = inferScopeParam(parameters.list, { path: path.sent, requestBody });
  const responseType = inferResponseType(source, operation);
  const at = { value: operation.value['security'], path: [...operation.path, 'security'] };
  const security = convertRequirements(source, at, schemes);
  const inferred: Inference[] = [
    ...(found.givenId === operationId ? [] : (['operation_id'] as const)),
    ...(names.isInferred ? (['summary'] as const) : []),
    ...(risk === riskOfMethod(method) ? [] : (['risk'] as const)),
    ...(scopeParam === undefined ? [] : (['scope_param'] as const)),
    ...(responseType === 'json' ? [] : (['response_type'] as const)),
    ...parameters.inferred,
    ...body.inferred,
  ];
  const value: JsonObject = {
    operationId,
    summary: names.summary,
    ...(risk !== riskOfMethod(method) && { 'x-service-risk': risk }),
    ...(scopeParam !== undefined && { 'x-service-scope-param': scopeParam }),
    ...(responseType !== 'json' && { 'x-service-response-type': responseType }),
    ...(security !== undefined && { security }),
    ...(parameters.list.length > 0 && { parameters: parameters.list }),
    ...(requestBody !== undefined && { requestBody }),
  };
  return { path, value, inferred };
}

/** What says what an operation does: its id, the end of its path, and constants that choose it. */
export function namesOf(operationId: string, { sent, label, query }: OperationPath): string[] {
  const last = sent.split('/').findLast((segment) => segment !== '' && !segment.includes('{'));
  return [operationId, last ?? '', ...Object.values(label), ...Object.values(query)];
}
