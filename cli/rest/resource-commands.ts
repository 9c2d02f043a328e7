import type { CommandRow, OptionRow } from '../command.ts';
import type { Query } from './api.ts';
import { restCommand } from './command.ts';
import type { RestCall, RestRow } from './command.ts';
import type { Change, Findable, Resource } from './resource.ts';

type About = Pick<RestRow, 'about' | 'options' | 'notes' | 'fields'>;

export const limitOption: OptionRow = [
  '--limit <number>',
  'at most so many (default 50, at most 1000)',
];
const yesOption: OptionRow = ['--yes', 'do not ask again'];

/** Errors about the id of an entry mean the argument that names the entry. */
const fieldsOf = ({ one }: Findable<never>) => ({ id: `<${one}>` });

/** The arguments of a command that works on one entry, such as `<agent> <key>`. */
function argumentsOf({ one, parent }: Findable<never>): string {
  return `${parent === undefined ? '' : `<${parent.one}> `}<${one}>`;
}

const load = () => import('./resource-handlers.ts');

/** `action-gateway <many> list`. `toQuery` turns the options into the filters of the API. */
export function listCommand<Item>(
  resource: Resource<Item>,
  { options = [], ...about }: About,
  toQuery?: (call: RestCall<Readonly<Record<string, string>>>) => Promise<Query> | Query,
): CommandRow {
  const { many, parent } = resource;
  const usage = parent === undefined ? `${many} list` : `${many} list <${parent.one}>`;
  return restCommand({ usage, ...about, options: [...options, limitOption] }, async () =>
    (await load()).listItems(resource, toQuery),
  );
}

/**
 * `action-gateway <many> show <one>`: shows the members of the entry, or those that `toShown`
 * makes of them.
 */
export function showCommand<Item extends object>(
  resource: Findable<Item>,
  about: About,
  toShown?: (item: Item) => object,
): CommandRow {
  const usage = `${resource.many} show ${argumentsOf(resource)}`;
  const row = { usage, fields: fieldsOf(resource), ...about };
  return restCommand(row, async () => (await load()).showItem(resource, toShown));
}

/** A command that deletes or changes an entry, and takes no further options. */
export function changeCommand<Item>(
  resource: Findable<Item>,
  { about, ...change }: Change & { readonly about: string },
): CommandRow {
  const row = {
    usage: `${resource.many} ${change.verb} ${argumentsOf(resource)}`,
    about,
    fields: fieldsOf(resource),
    ...(change.isFinal === true && { options: [yesOption] }),
  };
  return restCommand(row, async () => (await load()).changeItem(resource, change));
}
