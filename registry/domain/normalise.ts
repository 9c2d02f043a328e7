import type { JsonValue } from '#contracts/vocabulary';
import { extensionName, extensionNames, homesOf, isExtensionOf, kindAt } from './extensions.ts';
import type { Findings, Path } from './findings.ts';
import { didYouMean } from './nearest.ts';

/** Values that belong to the described API: keys in them are data, whatever they are called. */
const dataKeys = new Set(['example', 'examples', 'default', 'const', 'enum', 'scopes']);
/** Maps from names the author chose; their keys are no extensions, their values may carry some. */
const nameMaps = new Set([
  'properties',
  'patternProperties',
  'schemas',
  'securitySchemes',
  'paths',
]);

/**
 * A copy of the document in which every extension has its canonical
 * `x-service-*` name, reporting those that are unknown, misplaced or given twice.
 */
export function normalise(value: JsonValue, findings: Findings, path: Path = []): JsonValue {
  if (Array.isArray(value)) {
    return value.map((item, index) => normalise(item, findings, [...path, index]));
  }
  if (typeof value !== 'object' || value === null) return value;

  const isNameMap =
    (nameMaps.has(String(path.at(-1))) && !nameMaps.has(String(path.at(-2)))) || isToolMap(path);
  const normal: Record<string, JsonValue> = {};
  const spellings = new Map<string, string>();
  for (const [key, item] of Object.entries(value)) {
    const canonical = isNameMap ? key : canonicalKey(key, path, findings);
    const earlier = spellings.get(canonical);
    if (earlier !== undefined) {
      findings.error(
        'ambiguous_alias',
        [...path, key],
        `"${key}" and "${earlier}" are two spellings of ${canonical}. Keep one of them.`,
      );
      continue;
    }
    spellings.set(canonical, key);
    const isData = dataKeys.has(key) && !isNameMap;
    normal[canonical] = isData ? item : normalise(item, findings, [...path, canonical]);
  }
  return normal;
}

/** Tools are called what their server calls them. */
function isToolMap(path: Path): boolean {
  return path.length === 2 && path[0] === 'x-service-mcp' && path[1] === 'tools';
}

function canonicalKey(key: string, path: Path, findings: Findings): string {
  const extension = extensionName(key);
  if (extension === undefined) return key;
  const { name, marked } = extension;
  if (isExtensionOf(kindAt(path), name)) return `x-service-${name}`;
  // A bare word elsewhere is an ordinary field; the check for unknown fields judges it.
  if (!marked) return key;

  const homes = homesOf(name);
  if (homes.length === 0) {
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
      `"${key}" has no meaning here. Move it to the ${homes.join(' or ')} it is about.`,
    );
  }
  return key;
}
