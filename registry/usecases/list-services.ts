import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { serviceList } from '#contracts/http/services';
import type { Template } from '#contracts/http/templates';
import { id as uuid } from '#contracts/vocabulary';
import type { Principal } from '#contracts/vocabulary';
import { cursorOf, parseCursor } from '#database';
import { AppError } from '#errors';
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

interface ListServicesFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
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
  const after = page.cursor === null ? null : parsePosition(page.cursor);
  const rows = await services.listServices(deps.db, {
    orgId,
    userId,
    after,
    limit: page.limit + 1,
  });
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;

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
    next_cursor: last === undefined ? null : cursorOf([last.name, last.id]),
    ...(catalog && last === undefined ? { catalog: await listUnused(deps, caller) } : {}),
  };
}

/** Published templates that no service of the caller is made from. */
async function listUnused(deps: Deps, caller: Principal): Promise<Template[]> {
  const templates = await listNotConnected(deps, caller);
  return templates.slice(0, catalogMax).map(presentTemplate);
}

function parsePosition(cursor: string): { name: string; id: string } {
  const [name = '', id = ''] = parseCursor(cursor, 2);
  if (uuid.safeParse(id).success) return { name, id };
  const message = 'The cursor is not one we handed out; start again without a cursor.';
  throw new AppError('invalid_request', message);
}
