import type { ToolPin } from '#contracts/mcp';
import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from './context.ts';

type Mirror = ToolPin['headers'][number];

const keyword = 'x-mcp-header';
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/;
const types: readonly unknown[] = ['string', 'integer', 'boolean'];

/**
 * Arguments that a server wants in a header as well (MCP 2026-07-28, `x-mcp-header`). Undefined
 * when it asks so anywhere but on a named property of a plain type: such a tool is not to be used.
 */
export function readMirrors(schema: JsonValue | undefined): Mirror[] | undefined {
  const found = schema === undefined ? [] : mirrorsOf(schema, []);
  const names = found.map(({ name }) => name.toLowerCase());
  // Every other place has been counted by its text alone.
  const asked = JSON.stringify(schema ?? null).split(`"${keyword}":`).length - 1;
  return asked === found.length && new Set(names).size === names.length ? found : undefined;
}

function mirrorsOf(schema: JsonValue, path: readonly string[]): Mirror[] {
  if (!isObject(schema) || path.length > 20) return [];
  const { type, properties, [keyword]: name } = schema;
  const isMirror =
    path.length > 0 && typeof name === 'string' && token.test(name) && types.includes(type ?? null);
  const own = isMirror ? [{ path: [...path], name }] : [];
  const inner = isObject(properties) ? Object.entries(properties) : [];
  return [...own, ...inner.flatMap(([key, each]) => mirrorsOf(each, [...path, key]))];
}
