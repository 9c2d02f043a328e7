import { isDeepStrictEqual } from 'node:util';

import type { Gap, Injection } from '#contracts/permit';
import { AppError } from '#errors';
import { mayGoTo } from '../domain/hosts.ts';
import type { Lookups } from '../lookups/lookups.ts';
import { actionDisabled } from './action-facts.ts';
import { findSecret, findServiceCredentials } from './credentials.ts';
import { getConnectedService } from './services.ts';
import { stale } from './stale.ts';

/** The service, its template version, its address and every credential are what was approved. */
export async function checkUnchanged(lookups: Lookups, gap: Gap): Promise<void> {
  const [host = ''] = gap.hosts;
  await checkSecrets(lookups, gap, host);
  const { target } = gap;
  if (target.kind === 'raw') return;

  const { service, template } = await getConnectedService(lookups, gap, target.service);
  if (service.id !== target.serviceId) {
    throw stale('service', `The name ${target.service} stands for another service now.`);
  }
  if (!isDeepStrictEqual(service.template, target.template)) {
    throw stale('template', `The service ${service.name} uses another template version now.`);
  }
  if (service.baseUrl !== target.baseUrl) {
    throw stale('service', `The service ${service.name} has another address now.`);
  }
  if (target.kind === 'action') {
    const action = template.actions[target.action];
    if (action === undefined || action.disabled) throw actionDisabled(service.name, target.action);
  }
  const injections = await findServiceCredentials(lookups, {
    owner: gap,
    service,
    template,
    host,
    isKeyed: target.kind === 'verb',
  }).catch((error: unknown) => {
    // That the secret may not go there any more is a change, not something to allow again.
    if (error instanceof AppError && error.code === 'host_not_allowed') throw credentialChanged();
    throw error;
  });
  const approved =
    target.kind === 'verb' ? gap.injections.slice(0, injections.length) : gap.injections;
  if (!isDeepStrictEqual(injections, approved)) throw credentialChanged();
}

async function checkSecrets(lookups: Lookups, gap: Gap, host: string): Promise<void> {
  const names = [...new Set(gap.injections.map(({ credentialName }) => credentialName))];
  const known = await lookups.describeSecrets(gap, names);
  const isKeyed = gap.target.kind !== 'action';
  for (const injection of gap.injections) {
    const secret = findSecret(known, injection.credentialName);
    if (secret === undefined) throw missing(injection);
    const isSame =
      secret.id === injection.credentialId && secret.reference === injection.credentialName;
    if (!isSame || !mayGoTo(secret, host, { isKeyed })) throw credentialChanged();
  }
}

function missing({ credentialName }: Injection): AppError {
  return new AppError(
    'credential_missing',
    `The secret "${credentialName}" is gone. Create it again, then repeat the call.`,
    { details: { secret: credentialName } },
  );
}

function credentialChanged(): AppError {
  return stale('credential', 'The call would go out with another credential than was approved.');
}
