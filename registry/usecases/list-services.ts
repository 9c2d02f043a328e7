import type { Deadline } from '#bus';
import type { ConnectedService } from '#contracts/http/services';
import { id as uuid } from '#contracts/vocabulary';
import { cursorOf, parseCursor } from '#database';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { presentService } from '../domain/present-service.ts';
import { findExistingSecrets } from '../lookups/existing-secrets.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import * as services from '../repository/connected-service.ts';

interface ListServicesFields {
  readonly principal: string;
  readonly page: { readonly limit: number; readonly cursor: string | null };
}

/** The services a caller can use: its user's own and the org's. */
export async function listServices(
  deps: Deps,
  { principal, page }: ListServicesFields,
  deadline: Deadline,
): Promise<{ items: ConnectedService[]; next_cursor: string | null }> {
  const { orgId, userId } = deps.verifyPrincipal(principal);
  const after = page.cursor === null ? null : parsePosition(page.cursor);
  const rows = await services.listServices(deps.db, {
    orgId,
    userId,
    after,
    limit: page.limit + 1,
  });
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;

  const references = shown.flatMap((service) => Object.values(service.secrets));
  const found = await findExistingSecrets(deps.executor, { orgId, userId, references }, deadline);
  const existing = new Set(found.keys());
  const items = shown.map(async (service) => {
    const template = await getTemplateVersion(deps, { orgId, template: service.template });
    return presentService(service, { template, existing });
  });
  return {
    items: await Promise.all(items),
    next_cursor: last === undefined ? null : cursorOf([last.name, last.id]),
  };
}

function parsePosition(cursor: string): { name: string; id: string } {
  const [name = '', id = ''] = parseCursor(cursor, 2);
  if (uuid.safeParse(id).success) return { name, id };
  const message = 'The cursor is not one we handed out; start again without a cursor.';
  throw new AppError('invalid_request', message);
}
