import type { Agent } from '../../support/world.ts';
import type { Scene } from './scene.ts';

type Relative = {
  [Name in keyof Scene]: Scene[Name] extends Agent ? Name : never;
}[keyof Scene];
type RelatedIdentity = Relative | 'admin' | 'mia';

interface Request {
  readonly method: 'POST' | 'PATCH' | 'DELETE' | 'GET';
  readonly path: string;
  readonly body?: unknown;
}

/**
 * A request by an agent to change an identity that it may not change, and the error that the agent
 * gets.
 */
export interface ForbiddenRequest {
  readonly what: string;
  readonly as: 'bot' | 'child';
  readonly request: (scene: Scene) => Promise<Request>;
  readonly error: string;
}

/**
 * Which agent tries to change which identity. The error is `not_found` for an identity that the
 * agent may not see, and `forbidden` for one that it may see.
 */
type Relation = readonly [
  as: ForbiddenRequest['as'],
  to: RelatedIdentity,
  error: 'not_found' | 'forbidden',
];
const relations: readonly Relation[] = [
  ['bot', 'bot', 'forbidden'],
  ['bot', 'twin', 'not_found'],
  ['bot', 'nephew', 'not_found'],
  ['bot', 'admin', 'not_found'],
  ['bot', 'mia', 'not_found'],
  ['bot', 'theirs', 'not_found'],
  ['child', 'child', 'forbidden'],
  ['child', 'bot', 'not_found'],
  ['child', 'sibling', 'not_found'],
  ['child', 'placed', 'not_found'],
  ['child', 'admin', 'not_found'],
];
/**
 * Identities below the agent that another identity created. The agent may stop them, but may
 * neither create keys for them nor extend their rights.
 */
const foreignDescendantRelations: readonly Relation[] = [
  ['bot', 'placed', 'forbidden'],
  ['bot', 'grandchild', 'forbidden'],
];

const idOf = (scene: Scene, identityName: RelatedIdentity) =>
  identityName === 'admin' ? scene.world.admin.id : scene[identityName].id;
const identityPath = (scene: Scene, identityName: RelatedIdentity, moreWords = '') =>
  `/v1/identities/${idOf(scene, identityName)}${moreWords}`;

const descriptions: Readonly<Record<RelatedIdentity, string>> = {
  bot: 'the agent',
  child: 'the agent’s own subagent',
  sibling: 'another subagent of the agent',
  grandchild: 'a subagent of the agent’s subagent',
  placed: 'a subagent that the user created below the agent',
  twin: 'another agent of the user',
  nephew: 'a subagent of another agent',
  admin: 'the user',
  mia: 'another user',
  theirs: 'an agent of another user',
};
/** The titles of the tests name each identity by its relation to the agent `bot`. */
const nameInTitle = (as: ForbiddenRequest['as'], to: RelatedIdentity) =>
  as === to ? 'itself' : descriptions[to];

const keyAndReachRequests = [...relations, ...foreignDescendantRelations].flatMap(
  ([as, to, error]): ForbiddenRequest[] => [
    {
      what: `${descriptions[as]} creates a key for ${nameInTitle(as, to)}`,
      as,
      error,
      request: async (scene) => ({
        method: 'POST',
        path: identityPath(scene, to, '/keys'),
        body: { name: 'borrowed' },
      }),
    },
    {
      what: `${descriptions[as]} removes the expiry of ${nameInTitle(as, to)}`,
      as,
      error,
      request: async (scene) => ({
        method: 'PATCH',
        path: identityPath(scene, to),
        body: { expires_at: null },
      }),
    },
    {
      what: `${descriptions[as]} switches on the inheritance of ${nameInTitle(as, to)}`,
      as,
      error: to === 'bot' && as === 'bot' ? 'forbidden' : error,
      request: async (scene) => ({
        method: 'PATCH',
        path: identityPath(scene, to),
        body: { inherit_permissions: true },
      }),
    },
  ],
);

const lifecycleRequests = relations.flatMap(([as, to, error]): ForbiddenRequest[] => [
  ...(['archive', 'restore', 'revoke'] as const).map((verb): ForbiddenRequest => ({
    what: `${descriptions[as]} tries to ${verb} ${nameInTitle(as, to)}`,
    as,
    error,
    request: async (scene) => ({ method: 'POST', path: identityPath(scene, to, `/${verb}`) }),
  })),
  {
    what: `${descriptions[as]} switches on the automatic replay of ${nameInTitle(as, to)}`,
    as,
    error,
    request: async (scene) => ({
      method: 'PATCH',
      path: identityPath(scene, to),
      body: { auto_call_on_approve: true },
    }),
  },
]);

const keyRevocations = [...relations, ...foreignDescendantRelations]
  .filter(([, to]) => to !== 'admin' && to !== 'mia')
  .map(([as, to, error]): ForbiddenRequest => ({
    what: `${descriptions[as]} revokes a key of ${nameInTitle(as, to)}`,
    as,
    error,
    request: async (scene) => {
      const keyId = await scene.findKeyId(scene[to as Relative]);
      return { method: 'DELETE', path: identityPath(scene, to, `/keys/${keyId}`) };
    },
  }));

const subagentCreations = (
  [
    ...relations.filter(([as, to]) => as !== to),
    ...foreignDescendantRelations,
    ['bot', 'child', 'forbidden'],
  ] as Relation[]
).map(([as, to, error]): ForbiddenRequest => ({
  what: `${descriptions[as]} creates a subagent below ${nameInTitle(as, to)}`,
  as,
  error,
  request: async (scene) => ({
    method: 'POST',
    path: '/v1/identities/subagents',
    body: { name: 'cuckoo', parent_id: idOf(scene, to), inherit_permissions: true },
  }),
}));

const fieldChanges = (['bot', 'child'] as const).flatMap((to): ForbiddenRequest[] =>
  (['parent_id', 'owner_id', 'kind', 'role'] as const).map((field) => ({
    what: `the agent gives ${nameInTitle('bot', to)} another ${field}`,
    as: 'bot',
    error: 'invalid_request',
    request: async (scene) => ({
      method: 'PATCH',
      path: identityPath(scene, to),
      body: { [field]: field === 'role' ? 'admin' : field === 'kind' ? 'user' : scene.twin.id },
    }),
  })),
);

/**
 * The path names an identity that the agent may change, and a key of another identity. The gateway
 * must check that the key belongs to the identity.
 */
const foreignKeyRevocation: ForbiddenRequest = {
  what: 'the agent revokes a key of another agent under its subagent’s path',
  as: 'bot',
  error: 'not_found',
  request: async (scene) => ({
    method: 'DELETE',
    path: identityPath(scene, 'child', `/keys/${await scene.findKeyId(scene.twin)}`),
  }),
};

export const forbiddenRequests: readonly ForbiddenRequest[] = [
  ...keyAndReachRequests,
  ...lifecycleRequests,
  ...keyRevocations,
  ...subagentCreations,
  ...fieldChanges,
  foreignKeyRevocation,
];
