import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0';

import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject } from '../../document/domain/context.ts';
import { isUnsafeName } from './source.ts';

/**
 * Converts a document of Swagger 2.0 to OpenAPI 3.0. Undefined when the library cannot: it gives up at
 * the first part that it does not understand.
 */
export function convertSwagger(document: JsonObject): JsonObject | undefined {
  try {
    const converted = upgradeFromTwoToThree(copyObject(document)) as JsonObject;
    return typeof converted['openapi'] === 'string' ? converted : undefined;
  } catch {
    return undefined;
  }
}

function copy(value: JsonValue): JsonValue {
  if (Array.isArray(value))
    return value.filter((item) => typeof item !== 'string' || !isUnsafeName(item)).map(copy);
  return isObject(value) ? copyObject(value) : value;
}

/**
 * Copies a value without the names that all objects have. The library changes objects in place,
 * also objects that several YAML aliases share, and assigns to names that the document chooses.
 */
function copyObject(value: JsonObject): JsonObject {
  const entries = Object.entries(value).filter(([name]) => !isUnsafeName(name));
  return Object.fromEntries(entries.map(([name, item]) => [name, copy(item)]));
}
