import type { Connection } from '#contracts/http/connections';
import type { Me } from '#contracts/http/identities';
import type { Secret } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import { referenceOf } from '../connect/connect-view.ts';
import { credentialPathOf, pathOf } from '../services/service-view.ts';

/** A problem that the person should fix, with a link to the page where it can be fixed. */
export interface Fix {
  readonly id: string;
  /**
   * The name comes from a person or a provider. `before` and `after` are texts of the dashboard.
   */
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly link: {
    readonly href: string;
    readonly label: string;
    readonly isExternal: boolean;
  };
}

interface Owned {
  readonly tier: 'user' | 'org';
  readonly owner_id: string | null;
}

export function fixesOf(
  {
    connections,
    secrets,
    services,
  }: {
    connections: readonly Connection[];
    secrets: readonly Secret[];
    services: readonly ConnectedService[];
  },
  me: Me,
): Fix[] {
  const isMine = ({ tier, owner_id: ownerId }: Owned) =>
    tier === 'org' ? me.role === 'admin' : ownerId === me.id;
  return [
    ...connections.filter(isMine).flatMap(fixForConnection),
    ...secrets.filter(isMine).flatMap(fixForSecret),
    ...services.filter(isMine).flatMap((each) => [...fixForMissing(each), ...fixForTools(each)]),
  ];
}

function fixForConnection(connection: Connection): Fix[] {
  const { id, name, account_label: label, status, refused_at: refusedAt = null } = connection;
  const isRefused = status === 'active' && refusedAt !== null;
  if (status !== 'needs_reauth' && !isRefused) return [];
  return [
    {
      id,
      before: 'The account',
      name: label ?? name,
      after: isRefused
        ? 'is refused by the provider. Connect it again if calls keep failing.'
        : 'must be connected again: its access has ended.',
      link: { href: `/connect/repair/${id}`, label: 'Connect again', isExternal: true },
    },
  ];
}

function fixForSecret({ id, name, tier, refused_at: refusedAt = null }: Secret): Fix[] {
  if (refusedAt === null) return [];
  return [
    {
      id,
      before: 'The secret',
      name,
      after: 'is refused by the provider. Store a new value if calls keep failing.',
      link: {
        href: credentialPathOf('secret', referenceOf(name, tier)),
        label: 'Enter a new value',
        isExternal: false,
      },
    },
  ];
}

/**
 * The problem that a secret of the service is missing. Missing accounts are not listed here,
 * because an account whose access has ended is listed as a problem of its own.
 */
function fixForMissing(service: ConnectedService): Fix[] {
  const secret = service.missing?.find(({ kind }) => kind === 'secret');
  if (secret === undefined || service.status === 'disabled') return [];
  return [
    {
      id: service.id,
      before: 'The service',
      name: service.title,
      after: `cannot be called: its secret ${secret.name} is not stored.`,
      link: { href: `${pathOf(service)}#missing`, label: 'Enter it', isExternal: false },
    },
  ];
}

function fixForTools(service: ConnectedService): Fix[] {
  const { id, title, tools } = service;
  const waiting = tools?.waiting ?? 0;
  if (waiting === 0) return [];
  return [
    {
      id,
      before: waiting === 1 ? 'One tool of' : `${waiting} tools of`,
      name: title,
      after:
        waiting === 1
          ? 'is new or has changed, and cannot be called until you accept it.'
          : 'are new or have changed, and cannot be called until you accept them.',
      link: {
        href: `${pathOf(service)}#tools`,
        label: 'Look at the difference',
        isExternal: false,
      },
    },
  ];
}
