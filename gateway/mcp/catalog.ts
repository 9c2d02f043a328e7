import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { ConnectedService } from '#contracts/http/services';

type Registry = Client<typeof registry>;

const pageSize = 200;
/** Of one user; more are not looked at. */
const pagesMax = 5;
const requestMsMax = 3_000;

/** Connected services by the name that reaches them: `org/github` where a user's own shadows it. */
export async function listServices(
  client: Registry,
  principal: string,
): Promise<ConnectedService[]> {
  const all = await pages((page) =>
    client.listServices({ principal, page }, deadlineIn(requestMsMax)),
  );
  const own = new Set(all.filter(({ tier }) => tier === 'user').map(({ name }) => name));
  return all.map((service) => {
    const isShadowed = service.tier === 'org' && own.has(service.name);
    return isShadowed ? { ...service, name: `org/${service.name}` } : service;
  });
}

async function pages<Item>(
  read: (page: {
    limit: number;
    cursor: string | null;
  }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < pagesMax; count += 1) {
    const page = await read({ limit: pageSize, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  return items;
}
