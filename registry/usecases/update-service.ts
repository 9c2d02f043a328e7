import type { Deadline } from '#bus';
import type { ConnectedService } from '#contracts/http/services';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { presentService } from '../domain/present-service.ts';
import { mayWriteServices } from '../domain/service.ts';
import { serviceChanged } from '../domain/service-events.ts';
import { findExistingSecrets } from '../lookups/existing-secrets.ts';
import { getServiceByName } from '../lookups/service-by-name.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import * as services from '../repository/connected-service.ts';

interface UpdateServiceFields {
  readonly principal: string;
  readonly name: string;
  readonly body: { readonly auto_allow_reads: boolean };
}

/** Changes whether reads on a service need no rule. */
export async function updateService(
  deps: Deps,
  { principal, name, body }: UpdateServiceFields,
  deadline: Deadline,
): Promise<ConnectedService> {
  const caller = deps.verifyPrincipal(principal);
  const { orgId, userId } = caller;
  const {
    id,
    template: reference,
    secrets,
    tier,
  } = await getServiceByName(deps.db, {
    orgId,
    userId,
    name,
  });
  if (!mayWriteServices(caller, tier)) {
    throw new AppError('forbidden', 'Only its owner changes a service; an admin one of the org.');
  }
  // What is shown is looked up first: after the change nothing may fail any more.
  const references = Object.values(secrets);
  const [template, found] = await Promise.all([
    getTemplateVersion(deps, { orgId, template: reference }),
    findExistingSecrets(deps.executor, { orgId, userId, references }, deadline),
  ]);

  const changed = await deps.db.transaction(async (tx) => {
    const service = await services.updateService(tx, {
      orgId,
      id,
      autoAllowReads: body.auto_allow_reads,
      isDisabled: undefined,
      secrets: undefined,
      templateVersion: reference.version,
    });
    if (service === undefined) throw new AppError('unknown_service', `"${name}" is gone.`);
    await appendEvent(tx, serviceChanged(caller, service));
    return service;
  });
  return presentService(changed, { template, existing: new Set(found.keys()) });
}
