import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { ConnectedService, updateServiceBody } from '#contracts/http/services';
import { appendEvent } from '#events';
import { newestVersionOf } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { presentService } from '../domain/present-service.ts';
import { serviceChanged } from '../domain/service-events.ts';
import { chooseSecrets } from '../lookups/chosen-secrets.ts';
import { findExistingSecrets } from '../lookups/existing-secrets.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import { changedSince, getWritableService } from '../lookups/writable-service.ts';
import * as services from '../repository/connected-service.ts';

type Body = z.infer<typeof updateServiceBody>;

/** Changes whether reads need no rule, which secrets a service uses, and whether it can be used. */
export async function updateService(
  deps: Deps,
  { principal, name, body }: { principal: string; name: string; body: Body },
  deadline: Deadline,
): Promise<ConnectedService> {
  const caller = deps.verifyPrincipal(principal);
  const { orgId, userId } = caller;
  const service = await getWritableService(deps.db, caller, name);
  const { id, tier, hosts } = service;
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  const given = body.credentials?.secrets;
  const chosen =
    given &&
    (await chooseSecrets(deps, { caller, template, tier, hosts, given, isNamed: true }, deadline));
  // What is shown is looked up first: after the change nothing may fail any more.
  const references = Object.values(chosen?.secrets ?? service.secrets);
  const found = await findExistingSecrets(deps.executor, { orgId, userId, references }, deadline);

  for (const reference of chosen?.toOpen ?? []) {
    await deps.executor.allowSecretHosts({ principal, reference, hosts: [...hosts] }, deadline);
  }
  const changed = await deps.db.transaction(async (tx) => {
    const updated = await services.updateService(tx, {
      orgId,
      id,
      autoAllowReads: body.auto_allow_reads,
      isDisabled: body.disabled,
      secrets: chosen?.secrets,
      templateVersion: service.template.version,
    });
    if (updated === undefined) throw changedSince(name);
    await appendEvent(tx, serviceChanged(caller, updated, clausesOf(body, chosen?.secrets)));
    return updated;
  });
  return presentService(changed, {
    template,
    existing: new Set(found.keys()),
    newest: newestVersionOf(deps.catalog, changed),
  });
}

/** The change in words, for the audit log. */
function clausesOf(body: Body, secrets: Readonly<Record<string, string>> | undefined): string[] {
  const { auto_allow_reads: autoAllowReads, disabled } = body;
  return [
    ...(autoAllowReads === undefined
      ? []
      : [`reads ${autoAllowReads ? 'need no rule' : 'need a rule'}`]),
    ...(disabled === undefined ? [] : [disabled ? 'disabled' : 'enabled']),
    ...(secrets === undefined ? [] : [`uses ${Object.values(secrets).join(', ') || 'no secret'}`]),
  ];
}
