import type { SearchRow } from '#contracts/http/search';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';

type JsonObject = Record<string, JsonValue>;

const paramNamesMax = 20;
/** The depth at which cutting begins: schemas of real services are hardly deeper. */
const firstCutDepth = 12;

type ActionParams = Pick<CompiledAction, 'params' | 'paramsSchema'>;

/**
 * Adds to the rows the schemas of their parameters, best row first, as far as the whole answer
 * stays within `bytesMax`. One service can have schemas of 50 KB, and a model pays for each byte.
 */
export function fitSchemas(
  rows: readonly SearchRow[],
  actions: readonly (ActionParams | undefined)[],
  bytesMax: number,
): SearchRow[] {
  const rowsWithNamesOnly = rows.map((row, at): SearchRow => {
    const action = actions[at];
    if (action === undefined) return row;
    return { ...row, params: action.params.slice(0, paramNamesMax).map(({ name }) => name) };
  });
  let bytesLeft = bytesMax - bytesOf(rowsWithNamesOnly);
  return rowsWithNamesOnly.map((row, at) => {
    const schema = actions[at]?.paramsSchema;
    if (schema === undefined) return row;
    const { params: _names, ...others } = row;
    const withWholeSchema: SearchRow = { ...others, params_schema: schema };
    const addedBytes = bytesOf(withWholeSchema) - bytesOf(row);
    if (addedBytes > bytesLeft) return row;
    bytesLeft -= addedBytes;
    return withWholeSchema;
  });
}

/**
 * Adds to one row the schema of its parameters, cut at its deepest levels until the row stays
 * within `bytesMax`. A row whose schema was cut also lists the names of the parameters.
 */
export function fitSchema(
  row: SearchRow,
  action: ActionParams | undefined,
  bytesMax: number,
): SearchRow {
  if (action === undefined) return row;
  const { params, paramsSchema } = action;
  const withWholeSchema: SearchRow = { ...row, params_schema: paramsSchema };
  if (bytesOf(withWholeSchema) <= bytesMax) return withWholeSchema;
  const rowsWithNamesOnly: SearchRow = {
    ...row,
    params: params.slice(0, paramNamesMax).map(({ name }) => name),
  };
  for (let depth = firstCutDepth; depth > 0; depth -= 1) {
    const cutRow: SearchRow = {
      ...rowsWithNamesOnly,
      params_schema: cutAtDepth(paramsSchema, depth) as JsonObject,
    };
    if (bytesOf(cutRow) <= bytesMax) return cutRow;
  }
  return rowsWithNamesOnly;
}

/** Leaves out lists and objects that are deeper than `depth` levels. */
function cutAtDepth(value: JsonValue, depth: number): JsonValue {
  if (Array.isArray(value)) {
    return value.flatMap((item) =>
      isShallow(item) || depth > 0 ? [cutAtDepth(item, depth - 1)] : [],
    );
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      isShallow(member) || depth > 0 ? [[name, cutAtDepth(member, depth - 1)]] : [],
    ),
  );
}

function isShallow(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
