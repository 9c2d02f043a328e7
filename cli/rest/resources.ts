import type { Identity, PublicAgentKey } from '#contracts/http/identities';
import type { Rule } from '#contracts/http/rules';
import type { Secret } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import type { Template } from '#contracts/http/templates';
import type { Webhook } from '#contracts/http/webhooks';
import type { Findable, Resource } from './resource.ts';

/** Agents and subagents. A person names them by path (`ann/bot`) or by their own name. */
export const agents: Resource<Identity> = {
  one: 'agent',
  many: 'agents',
  path: '/v1/identities',
  namesOf: ({ kind, path }) => (kind === 'user' ? [] : [path.join('/'), path.at(-1)]),
  // Sorted by path, the list is a tree: an agent comes before its subagents.
  arrange: (items) =>
    items
      .filter(({ kind }) => kind !== 'user')
      .toSorted((one, other) => comparePaths(one.path, other.path)),
  columns: {
    AGENT: ({ path }) => path.join('/'),
    STATUS: ({ status }) => status,
    'LAST ACTIVE': ({ last_active_at }) => last_active_at,
    EXPIRES: ({ expires_at }) => expires_at,
    ID: ({ id }) => id,
  },
};

/** Everybody who may have asked for an approval. A person names them as they name agents. */
export const requesters: Findable<Identity> = {
  one: 'agent or user',
  many: 'agents',
  path: agents.path,
  namesOf: ({ path }) => [path.join('/'), path.at(-1)],
};

function comparePaths(one: readonly string[], other: readonly string[]): number {
  const [first, second] = [one.join('\0'), other.join('\0')];
  return first < second ? -1 : Number(first > second);
}

export const keys: Resource<PublicAgentKey> = {
  one: 'key-id',
  many: 'keys',
  path: 'keys',
  parent: agents,
  columns: {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    'BEGINS WITH': ({ hint }) => hint,
    EXPIRES: ({ expires_at }) => expires_at,
    'LAST USED': ({ last_used_at }) => last_used_at,
  },
};

const nameOfSecret = ({ name, tier }: Secret) => (tier === 'org' ? `org/${name}` : name);

export const secrets: Resource<Secret> = {
  one: 'secret',
  many: 'secrets',
  path: '/v1/secrets',
  namesOf: (secret) => [nameOfSecret(secret)],
  columns: {
    NAME: nameOfSecret,
    VERSION: ({ current_version }) => current_version,
    HOSTS: ({ allowed_hosts }) => allowed_hosts.join(' '),
    CHANGED: ({ updated_at }) => updated_at,
    REFUSED: ({ refused_at }) => refused_at,
  },
};

export const rules: Resource<Rule> = {
  one: 'rule-id',
  many: 'rules',
  path: '/v1/rules',
  columns: {
    ID: ({ id }) => id,
    EFFECT: ({ effect }) => effect,
    PATTERN: ({ pattern }) => pattern,
    EXPIRES: ({ expires_at }) => expires_at,
    USED: ({ use_count }) => use_count,
    'IN WORDS': ({ description }) => description,
  },
};

/**
 * Users of the org. A person names them by e-mail address or by name. Their single entries are
 * identities.
 */
export const users: Resource<Identity> = {
  one: 'user',
  many: 'users',
  path: '/v1/users',
  itemPath: '/v1/identities',
  namesOf: ({ email, path }) => [email, path[0]],
  columns: {
    NAME: ({ path }) => path[0],
    EMAIL: ({ email }) => email,
    ROLE: ({ role }) => role,
    STATUS: ({ status }) => status,
    'LAST ACTIVE': ({ last_active_at }) => last_active_at,
    ID: ({ id }) => id,
  },
};

export const services: Resource<ConnectedService> = {
  one: 'service',
  many: 'services',
  path: '/v1/services',
  columns: {
    NAME: ({ name, tier }) => (tier === 'org' ? `org/${name}` : name),
    TITLE: ({ title }) => title,
    STATUS: ({ status }) => status,
    ACTIONS: ({ actions_count }) => actions_count,
    ADDRESS: ({ base_url }) => base_url,
    REFUSED: ({ refused = [] }) => refused.map(({ kind, name }) => `${kind} ${name}`).join(', '),
  },
};

/** A service as `services show` prints it: without its actions, of which there may be hundreds. */
export function toShownService(service: ConnectedService): object {
  const refused = service.refused?.map(
    ({ kind, name, refused_at: at }) => `${kind} ${name}, since ${at}`,
  );
  return {
    ...service,
    actions: null,
    ...(refused !== undefined && { refused: refused.join('; ') }),
  };
}

export const templates: Resource<Template> = {
  one: 'template',
  many: 'templates',
  path: '/v1/templates',
  columns: {
    KEY: ({ key }) => key,
    TIER: ({ tier }) => tier,
    STATUS: ({ status }) => status,
    VERSION: ({ version }) => version,
    TITLE: ({ title }) => title,
    ACTIONS: ({ actions_count }) => actions_count,
  },
};

export const webhooks: Resource<Webhook> = {
  one: 'webhook-id',
  many: 'webhooks',
  path: '/v1/webhooks',
  columns: {
    ID: ({ id }) => id,
    STATUS: ({ status }) => status,
    EVENTS: ({ events }) => events.join(' '),
    URL: ({ url }) => url,
    'OFF BECAUSE': ({ disabled_reason }) => disabled_reason,
  },
};
