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
import type { SchemaBudget } from './schemas.ts';
import { convertRequirements } from './security.ts';
import type { Schemes } from './security.ts';
import { follow, objectAt, textAt } from './source.ts';
import type { Source } from './source.ts';

const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete', 'trace'] as const;

/** What the schemas of one operation may unfold to; beyond, the deepest levels are left open. */
const NODES_MAX = 2_000;
const OPERATION_BYTES_MAX = 64 * 1024;
const depths = [40, 8, 6, 5, 4, 3, 2, 1, 0];

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

/** Every operation of the document, in its order, each with an id. */
export function findOperations(source: Source): FoundOperation[] {
  const found = Object.entries(objectAt(source.document, 'paths')).flatMap(([path, value]) => {
    if (path.startsWith('x-') || path.length > 2000) return [];
    const pathItem = follow(source, { value, path: ['paths', path] });
    if (pathItem === undefined) return [];
    return methods.flatMap((name) => {
      const operation = Object.hasOwn(pathItem.value, name) ? pathItem.value[name] : undefined;
      if (!isObject(operation)) return [];
      const place = { value: operation, path: [...pathItem.path, name] };
      const method = name.toUpperCase() as FoundOperation['method'];
      return [
        { method, path, pathItem, operation: place, givenId: textAt(operation, 'operationId') },
      ];
    });
  });
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
  schemes: Schemes,
): ConvertedOperation {
  const path = readPath(found.path);
  for (const depthMax of depths) {
    const budget = { nodes: NODES_MAX, depthMax, isCut: false };
    const converted = convertWithin(source, found, { path, schemes, budget });
    const isTooMuch =
      budget.nodes < 0 || JSON.stringify(converted.value).length > OPERATION_BYTES_MAX;
    if (isTooMuch && depthMax > 0) continue;
    if (budget.isCut) {
      const message = `The schemas unfold very far; below level ${depthMax} any value is accepted.`;
      source.notes.info('schema_opened', found.operation.path, message);
    }
    return converted;
  }
  throw new TypeError('the last depth always returns');
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
  const parameters = convertParameters(source, { ...found, path }, budget);
  const body = convertBody(source, operation, { method, budget });
  const { requestBody } = body;
  const names = inferSummary(operation.value, { operationId, parameters: parameters.list });
  const risk = inferRisk(method, [operationId, lastWord(path.sent)]);
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

/** The last part of the path that is no parameter. */
export function lastWord(path: string): string {
  return path.split('/').findLast((segment) => segment !== '' && !segment.includes('{')) ?? '';
}
