import * as z from 'zod';

import type { Deadline } from '#bus';
import type { serviceList } from '#contracts/http/services';
import type { Template } from '#contracts/http/templates';
import { id as uuid } from '#contracts/vocabulary';
import type { Principal } from '#contracts/vocabulary';
import { pageOf, parseCursor, textValue } from '#database';
import type { PageRequest } from '#database';
import { newestVersionOf } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import { presentService } from './domain/present-service.ts';
import { presentTemplate } from '../templates/domain/present-template.ts';
import { findCredentialsOfServices } from './find-credentials.ts';
import { listConnectableTemplates } from './list-connectable-templates.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';
import * as services from './connected-service.sql.ts';

type ServiceList = z.infer<typeof serviceList>;

const catalogTemplatesMax = 200;
/** The cursor of a page: the name and id of its last service. */
const positionSchema = z.tuple([textValue, uuid]);

interface ListServicesFields {
  readonly principal: string;
  readonly page: PageRequest;
  /** Whether the list also contains templates from which no service has been made. */
  readonly catalog: boolean;
}

/** Lists the services that a caller can use: those of the caller's user and those of the org. */
export async function listServices(
  deps: Deps,
  { principal, page, catalog }: ListServicesFields,
  deadline: Deadline,
): Promise<ServiceList> {
  const caller = deps.readPrincipal(principal);
  const { orgId, userId } = caller;
  const after = parseCursor(page.cursor, positionSchema);
  const rows = await services.listServices(deps.db, {
    orgId,
    userId,
    after: after && { name: after[0], id: after[1] },
    limit: page.limit + 1,
  });
  const { items: shownServices, next_cursor } = pageOf(rows, page.limit, ({ name, id }) => [
    name,
    id,
  ]);

  const credentialQuery = { orgId, userId, services: shownServices };
  const existingCredentials = await findCredentialsOfServices(
    deps.executor,
    credentialQuery,
    deadline,
  );
  const pendingItems = shownServices.map(async (service) => {
    const template = await getTemplateVersion(deps, { orgId, template: service.template });
    return presentService(service, {
      template,
      existing: existingCredentials,
      newest: newestVersionOf(deps.catalog, service),
    });
  });
  return {
    items: await Promise.all(pendingItems),
    next_cursor,
    ...(catalog && next_cursor === null
      ? { catalog: await listUnusedTemplates(deps, caller) }
      : {}),
  };
}

/** Lists the published templates from which the caller has no service. */
async function listUnusedTemplates(deps: Deps, caller: Principal): Promise<Template[]> {
  const templates = await listConnectableTemplates(deps, caller);
  return templates.slice(0, catalogTemplatesMax).map(presentTemplate);
}
