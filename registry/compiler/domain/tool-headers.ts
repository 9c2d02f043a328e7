import type { ToolPin } from '#contracts/mcp';
import { isHeaderName } from '#contracts/request-headers';
import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';

type HeaderArgument = ToolPin['headers'][number];

const headerKeyword = 'x-mcp-header';
const headerNameCharactersMax = 100;
const simpleTypes: readonly unknown[] = ['string', 'integer', 'boolean'];

/**
 * The arguments that the server wants repeated as request headers (MCP 2026-07-28, `x-mcp-header`).
 * Undefined when the keyword is anywhere except on a named property of a simple type; the tool is
 * then unusable.
 */
export function readHeaderArguments(schema: JsonValue | undefined): HeaderArgument[] | undefined {
  const headerArguments = schema === undefined ? [] : headerArgumentsOf(schema, []);
  const headerNames = headerArguments.map(({ name }) => name.toLowerCase());
  // Counts the keyword in the text of the schema, to notice one that `headerArgumentsOf` skipped.
  const keywordCount = JSON.stringify(schema ?? null).split(`"${headerKeyword}":`).length - 1;
  return keywordCount === headerArguments.length && new Set(headerNames).size === headerNames.length
    ? headerArguments
    : undefined;
}

function headerArgumentsOf(schema: JsonValue, path: readonly string[]): HeaderArgument[] {
  if (!isObject(schema) || path.length > 20) return [];
  const { type, properties, [headerKeyword]: name } = schema;
  const isHeaderArgument =
    path.length > 0 &&
    typeof name === 'string' &&
    name.length <= headerNameCharactersMax &&
    isHeaderName(name) &&
    simpleTypes.includes(type ?? null);
  const ownHeader = isHeaderArgument ? [{ path: [...path], name }] : [];
  const innerProperties = isObject(properties) ? Object.entries(properties) : [];
  return [
    ...ownHeader,
    ...innerProperties.flatMap(([key, each]) => headerArgumentsOf(each, [...path, key])),
  ];
}
