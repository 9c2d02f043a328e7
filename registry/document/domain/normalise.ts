import type { JsonValue } from '#contracts/vocabulary';
import {
  parseExtensionName,
  extensionNames,
  listKindsWithExtension,
  mayHaveExtension,
  objectKindAt,
} from './extensions.ts';
import type { Findings, DocumentPath } from './findings.ts';
import { didYouMean } from './nearest.ts';

/** Keys whose values are data of the described API; names inside this data are never extensions. */
const dataKeys = new Set(['example', 'examples', 'default', 'const', 'enum', 'scopes']);
/**
 * Objects whose keys are names that the author chose, such as `schemas`. A key of such an object is
 * never an extension, but the values may have extensions.
 */
const nameMapKeys = new Set([
  'properties',
  'patternProperties',
  'schemas',
  'securitySchemes',
  'paths',
]);

/**
 * Copies the document and gives each extension its canonical `x-service-*` name. Reports extensions
 * that are unknown, misplaced or given twice.
 */
export function normaliseNode(
  value: JsonValue,
  findings: Findings,
  path: DocumentPath = [],
): JsonValue {
  if (Array.isArray(value)) {
    return value.map((item, index) => normaliseNode(item, findings, [...path, index]));
  }
  if (typeof value !== 'object' || value === null) return value;

  const isNameMap =
    (nameMapKeys.has(String(path.at(-1))) && !nameMapKeys.has(String(path.at(-2)))) ||
    isToolMap(path);
  const normalisedObject: Record<string, JsonValue> = {};
  const spellingByCanonicalKey = new Map<string, string>();
  for (const [key, item] of Object.entries(value)) {
    const canonicalName = isNameMap ? key : canonicalKey(key, path, findings);
    const earlierSpelling = spellingByCanonicalKey.get(canonicalName);
    if (earlierSpelling !== undefined) {
      findings.error(
        'ambiguous_alias',
        [...path, key],
        `"${key}" and "${earlierSpelling}" are two spellings of ${canonicalName}. Keep one of them.`,
      );
      continue;
    }
    spellingByCanonicalKey.set(canonicalName, key);
    const isData = dataKeys.has(key) && !isNameMap;
    normalisedObject[canonicalName] = isData
      ? item
      : normaliseNode(item, findings, [...path, canonicalName]);
  }
  return normalisedObject;
}

/** Whether the keys of the object at this path are names of tools, which the MCP server chooses. */
function isToolMap(path: DocumentPath): boolean {
  return path.length === 2 && path[0] === 'x-service-mcp' && path[1] === 'tools';
}

function canonicalKey(key: string, path: DocumentPath, findings: Findings): string {
  const extension = parseExtensionName(key);
  if (extension === undefined) return key;
  const { name, marked } = extension;
  if (mayHaveExtension(objectKindAt(path), name)) return `x-service-${name}`;
  // A key without the prefix may be an ordinary field of OpenAPI; `checkFields` reports it if not.
  if (!marked) return key;

  const allowedKinds = listKindsWithExtension(name);
  if (allowedKinds.length === 0) {
    const hint = didYouMean(`x-service-${name}`, extensionNames);
    findings.error(
      'unknown_extension',
      [...path, key],
      `"${key}" is not an extension of the gateway.${hint} Remove or rename it.`,
    );
  } else {
    findings.error(
      'misplaced_extension',
      [...path, key],
      `"${key}" has no meaning here. Move it to the ${allowedKinds.join(' or ')} it is about.`,
    );
  }
  return key;
}
