import { isId } from '../command.ts';
import { misuse } from '../refusal.ts';
import { makePrintable } from '../words.ts';
import type { Api, Query } from './api.ts';
import type { RestCall, RestHandler } from './command.ts';
import { askYes, canAsk } from './input.ts';
import { listLimitMax, readLimit } from './limit.ts';
import type { Answer, Cell } from './output.ts';
import type { Change, Findable, Resource } from './resource.ts';

type Path = `/v1/${string}`;

/** Lists the entries of a resource, at most as many as `--limit` allows. */
export function listItems<Item>(
  resource: Resource<Item>,
  toQuery?: (call: RestCall<Readonly<Record<string, string>>>) => Promise<Query> | Query,
): RestHandler<Readonly<Record<string, string>>> {
  return async (call) => {
    const limit = readLimit(call.options);
    const query = (await toQuery?.(call)) ?? {};
    const path = await findPath(call.api, resource, call.args);
    const { arrange = (items) => [...items] } = resource;
    // Requests one entry more than wanted, to find out whether there are more.
    const requestedCount = resource.arrange === undefined ? limit + 1 : listLimitMax;
    const foundItems = arrange(await call.api.list<Item>(path, query, requestedCount));
    const items = foundItems.slice(0, limit);
    const columns = Object.entries(resource.columns);
    return {
      data: items,
      show: {
        header: columns.map(([title]) => title),
        table: items.map((item) => columns.map(([, cellOf]) => cellOf(item))),
      },
      note: foundItems.length > limit ? 'There are more: see --limit.' : undefined,
    };
  };
}

/** Shows the members of one entry, or those that `toShown` makes of them. */
export function showItem<Item extends object>(
  resource: Findable<Item>,
  toShown: (item: Item) => object = (item) => item,
): RestHandler<object> {
  return async ({ api, args }) => {
    const item = await api.request<Item>('GET', await findItemPath(api, resource, args));
    return { data: item, show: { facts: factsOf(toShown(item)) } };
  };
}

/** Deletes an entry, or changes it by a POST request below its path. */
export function changeItem<Item>(
  resource: Findable<Item>,
  { verb, post, done, isFinal }: Change,
): RestHandler<{ readonly yes?: true }> {
  return async ({ api, args, options: { yes } }): Promise<Answer> => {
    const path = await findItemPath(api, resource, args);
    const name = `The ${resource.one.replace(/-id$/, '')} ${args.at(-1) ?? ''}`;
    if (isFinal === true && yes === undefined) {
      if (!canAsk()) throw misuse(`Nothing undoes "${verb}": add --yes.`);
      await askYes(
        `Nothing undoes this. Type "yes" to ${verb} ${makePrintable(args.at(-1) ?? '')}: `,
      );
    }
    const data =
      post === undefined
        ? await api.request('DELETE', path)
        : await api.request('POST', `${path}/${post}`);
    return { data, show: { text: '' }, note: `${name} ${done}.` };
  };
}

/**
 * The members of an object in a form for a person. Objects, and lists that do not contain only
 * strings, are shown as JSON.
 */
export function factsOf(item: object): (readonly [string, Cell])[] {
  return Object.entries(item)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name.replaceAll('_', ' '), factOf(value)] as const);
}

function factOf(value: unknown): Cell {
  if (typeof value !== 'object' || value === null) return value as Cell;
  const isListOfWords = Array.isArray(value) && value.every((each) => typeof each === 'string');
  return isListOfWords ? value.join(', ') : JSON.stringify(value);
}

/**
 * The path of a list. For a list below another entry, `args` starts with the name of that entry.
 */
async function findPath(
  api: Api,
  { path, parent }: Findable<never>,
  args: readonly string[],
): Promise<Path> {
  if (parent === undefined) return path as Path;
  return `${await findItemPath(api, parent, args)}/${path}`;
}

async function findItemPath<Item>(
  api: Api,
  resource: Findable<Item>,
  args: readonly string[],
): Promise<Path> {
  const path = resource.itemPath ?? (await findPath(api, resource, args));
  const id = await findId(api, resource, args[resource.parent === undefined ? 0 : 1]);
  return `${path as Path}/${encodeURIComponent(id)}`;
}

/**
 * Finds the id of an entry. A person may give the id itself, or one of the entry's names.
 *
 * @throws Refusal unless exactly one of the first 1,000 entries has that name.
 */
export async function findId<Item>(
  api: Api,
  { path, one, many, namesOf }: Findable<Item>,
  word = '',
): Promise<string> {
  if (namesOf === undefined || isId(word)) return word;
  const items = await api.list<Item & { id: string }>(path as Path, {}, listLimitMax);
  const foundItems = items.filter((item) => namesOf(item).includes(word));
  const [only] = foundItems;
  if (only !== undefined && foundItems.length === 1) return only.id;
  throw misuse(
    foundItems.length === 0
      ? `There is no ${one} "${word}": see "${api.spellCommand(many, 'list')}".`
      : `"${word}" is the name of ${foundItems.length} ${many}: write ${foundItems.map((item) => `${namesOf(item)[0] ?? one} (id ${item.id})`).join(' or ')}.`,
  );
}
