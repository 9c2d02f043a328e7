import type { z } from 'zod';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { ConnectedService, Template, serviceDetail } from '#contracts/http/services';
import { AppError } from '#errors';

export type ServiceDetail = z.infer<typeof serviceDetail>;
type Registry = Client<typeof registry>;

const pageSize = 200;
/** Of one user; more are not looked at. */
const pagesMax = 5;
const requestMsMax = 3_000;

/** The services of a caller's user and org with their actions, as they are now. */
export async function readServices(client: Registry, principal: string): Promise<ServiceDetail[]> {
  const services = await listServices(client, principal);
  const details = services
    .filter(({ status }) => status !== 'disabled')
    .map(async ({ name }) => {
      try {
        const detail = await client.getService({ principal, name }, deadlineIn(requestMsMax));
        return [{ ...detail, name }];
      } catch (thrown) {
        // Disconnected since it was listed.
        if (AppError.from(thrown).code === 'unknown_service') return [];
        throw thrown;
      }
    });
  return (await Promise.all(details)).flat();
}

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

export function listTemplates(client: Registry, principal: string): Promise<Template[]> {
  return pages((page) => client.listTemplates({ principal, page }, deadlineIn(requestMsMax)));
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
