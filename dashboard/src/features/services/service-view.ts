import type { Connection } from '#contracts/http/connections';
import type { Me } from '#contracts/http/identities';
import type { ConnectedService } from '#contracts/http/services';
import type { Tier } from '#contracts/vocabulary';
import { referenceOf } from '../connect/connect-view.ts';

type Named = Pick<ConnectedService, 'name' | 'tier'>;

/**
 * Addresses below `/services/` that belong to other pages. A service with such a name has one more
 * segment in its address.
 */
const takenSegments = new Set(['new', 'credentials']);

/** The address of the page of a service. */
export function pathOf({ name, tier }: Named): string {
  if (tier === 'org') return `/services/org/${encodeURIComponent(name)}`;
  return takenSegments.has(name)
    ? `/services/mine/${name}`
    : `/services/${encodeURIComponent(name)}`;
}

/** The address of a service's page, from the reference by which agents call the service. */
export function pathOfReference(reference: string): string {
  return pathOf(partsOf(reference));
}

/** The name and tier of a reference: `org/github` is the service `github` of the org. */
export function partsOf(reference: string): { name: string; tier: Tier } {
  return reference.startsWith('org/')
    ? { name: reference.slice('org/'.length), tier: 'org' }
    : { name: reference, tier: 'user' };
}

export const serviceReferenceOf = ({ name, tier }: Named): string => referenceOf(name, tier);

/** Whether the person may change services and credentials of this tier. */
export function mayChange({ role }: Pick<Me, 'role'>, tier: Tier): boolean {
  return role === 'admin' || (role === 'member' && tier === 'user');
}

export type StateTone = 'good' | 'warning' | 'bad' | 'off';
export interface ServiceState {
  readonly tone: StateTone;
  readonly words: string;
}

type StateOfService = Pick<
  ConnectedService,
  'status' | 'missing' | 'refused' | 'tools' | 'newest_version' | 'template_version'
>;

/** The state of a service in a few words. It names the problem that hinders calls the most. */
export function stateOf(service: StateOfService): ServiceState {
  const { status, missing = [], refused = [], tools } = service;
  if (status === 'disabled') return { tone: 'off', words: 'Switched off' };
  if (status === 'needs_reauth') return { tone: 'bad', words: 'Account to renew' };
  if (status === 'needs_credentials') {
    const isSecret = missing.some(({ kind }) => kind === 'secret');
    return { tone: 'bad', words: isSecret ? 'Needs a secret' : 'Needs an account' };
  }
  if (refused.length > 0) return { tone: 'bad', words: 'Credential refused' };
  const waiting = tools?.waiting ?? 0;
  if (waiting > 0)
    return {
      tone: 'warning',
      words: waiting === 1 ? 'One tool changed' : `${waiting} tools changed`,
    };
  if ((tools?.error ?? null) !== null) return { tone: 'warning', words: 'Tools cannot be listed' };
  return { tone: 'good', words: 'Ready' };
}

/** Whether a person should do something about the service. */
export const needsFix = (service: StateOfService): boolean =>
  ['warning', 'bad'].includes(stateOf(service).tone);

/** Sorts services for the list: those to fix come first; equal ones are sorted by title. */
export function sortServices<Service extends ConnectedService>(
  services: readonly Service[],
): Service[] {
  return services.toSorted(
    (one, other) =>
      Number(needsFix(other)) - Number(needsFix(one)) ||
      one.title.localeCompare(other.title, 'en') ||
      one.name.localeCompare(other.name, 'en'),
  );
}

/** The services that contain every word in their title, name or template. */
export function filterServices<Service extends ConnectedService>(
  services: readonly Service[],
  text: string,
): Service[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return services.filter((service) => {
    const searchableText =
      `${serviceReferenceOf(service)} ${service.title} ${service.template}`.toLowerCase();
    return words.every((word) => searchableText.includes(word));
  });
}

export interface Fix {
  readonly sentence: string;
  readonly linkLabel: string;
  readonly href: string;
}

/** The problems of a service, each with a link to the page where it can be fixed. */
export function fixesOf(service: ConnectedService): Fix[] {
  const page = pathOf(service);
  const missing = (service.missing ?? []).map(({ kind, name, status }): Fix => {
    if (kind === 'secret')
      return {
        sentence: `The secret ${name} is not stored.`,
        linkLabel: 'Enter it',
        href: `${page}#missing`,
      };
    const isEnded = status === 'needs_reauth';
    return {
      sentence: isEnded
        ? `The access to the account ${name} has ended.`
        : `The account ${name} is not connected.`,
      linkLabel: isEnded ? 'Connect it again' : 'Connect it',
      href: `${page}#missing`,
    };
  });
  const refused = (service.refused ?? []).map(({ kind, name }): Fix => ({
    sentence: `The ${kind === 'secret' ? 'secret' : 'account'} ${name} was refused when it was last used.`,
    linkLabel: kind === 'secret' ? 'Enter a new value' : 'Connect it again',
    href: credentialPathOf(kind, name),
  }));
  const waiting = service.tools?.waiting ?? 0;
  const tools: Fix[] =
    waiting === 0
      ? []
      : [
          {
            sentence:
              waiting === 1
                ? 'One tool is new or has changed, and waits until you have looked at it.'
                : `${waiting} tools are new or have changed, and wait until you have looked at them.`,
            linkLabel: 'Look at the difference',
            href: `${page}#tools`,
          },
        ];
  return [...missing, ...refused, ...tools];
}

/** The address of the credentials page with this secret or account opened. */
export function credentialPathOf(kind: 'secret' | 'connection', reference: string): string {
  const show = kind === 'secret' ? 'secrets' : 'accounts';
  return `/services/credentials?show=${show}&open=${encodeURIComponent(reference)}`;
}

/** The account with the name and tier of this reference. */
export function findConnection(
  connections: readonly Connection[],
  reference: string,
): Connection | undefined {
  const { name, tier } = partsOf(reference);
  return connections.find((each) => each.name === name && each.tier === tier);
}

const levels = { read: 'low', write: 'med', delete: 'high' } as const;

/** The risk of an action, in the words that approvals use. */
export const levelOf = (risk: keyof typeof levels): (typeof levels)[keyof typeof levels] =>
  levels[risk];

/** Whether the service is the notice board that `npm start` runs. */
export const isSample = ({
  template,
  template_tier: tier,
}: Pick<ConnectedService, 'template' | 'template_tier'>): boolean =>
  template === 'sample' && tier === 'global';
