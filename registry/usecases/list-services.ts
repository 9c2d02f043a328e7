import * as z from 'zod';

import type { Deadline } from '#bus';
import type { serviceList } from '#contracts/http/services';
import type { Template } from '#contracts/http/templates';
import { id as uuid } from '#contracts/vocabulary';
import type { Principal } from '#contracts/vocabulary';
import { pageOf, parseCursor, textValue } from '#database';
import type { PageRequest } from '#database';
import { newestVersionOf } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { presentService } from '../domain/present-service.ts';
import { presentTemplate } from '../domain/present-template.ts';
import { findCredentialsOf } from '../lookups/existing-credentials.ts';
import { listNotConnected } from '../lookups/not-connected.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import * as services from '../repository/connected-service.ts';

type ServiceList = z.infer<typeof serviceList>;

const catalogMax = 200;
/** The name and id of a service. */
const position = z.tuple([textValue, uuid]);

interface ListServicesFields {
  readonly principal: string;
  readonly page: PageRequest;
  /** Also what could be connected. */
  readonly catalog: boolean;
}

/** The services a caller can use: its user's own and the org's. */
export async function listServices(
  deps: Deps,
  { principal, page, catalog }: ListServicesFields,
  deadline: Deadline,
): Promise<ServiceList> {
  const caller = deps.readPrincipal(principal);
  const { orgId, userId } = caller;
  const after = parseCursor(page.cursor, position);
  const rows = await services.listServices(deps.db, {
    orgId,
    userId,
    after: after && { name: after[0], id: after[1] },
    limit: page.limit + 1,
  });
  const { items: shown, next_cursor } = pageOf(rows, page.limit, ({ name, id }) => [name, id]);

  const wanted = { orgId, userId, services: shown };
  const existing = await findCredentialsOf(deps.executor, wanted, deadline);
  const items = shown.map(async (service) => {
    const template = await getTemplateVersion(deps, { orgId, template: service.template });
    return presentService(service, {
      template,
      existing,
      newest: newestVersionOf(deps.catalog, service),
    });
  });
  return {
    items: await Promise.all(items),
    next_cursor,
    ...(catalog && next_cursor === null ? { catalog: await listUnused(deps, caller) } : {}),
  };
}

/** Published templates that no service of the caller is made from. */
async function listUnused(deps: Deps, caller: Principal): Promise<Template[]> {
  const templates = await listNotConnected(deps, caller);
  return templates.slice(0, catalogMax).map(presentTemplate);
}
