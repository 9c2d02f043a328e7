import type { Agent } from '../support/world.ts';
import type { Scene } from './scene.ts';

type Relative = {
  [Name in keyof Scene]: Scene[Name] extends Agent ? Name : never;
}[keyof Scene];
type Member = Relative | 'admin' | 'mia';

interface Request {
  readonly method: 'POST' | 'PATCH' | 'DELETE' | 'GET';
  readonly path: string;
  readonly body?: unknown;
}

/** What an agent asks of an identity that is not its own to change, and the error it gets. */
export interface Claim {
  readonly what: string;
  readonly as: 'bot' | 'child';
  readonly request: (scene: Scene) => Promise<Request>;
  readonly error: string;
}

/** `not_found` of whom it may not even see, `forbidden` of whom it may. */
type Relation = readonly [as: Claim['as'], to: Member, error: 'not_found' | 'forbidden'];
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
/** Below it, but made by another: it may stop them, and have neither their keys nor a wider reach. */
const stepchildren: readonly Relation[] = [
  ['bot', 'placed', 'forbidden'],
  ['bot', 'grandchild', 'forbidden'],
];

const idOf = (scene: Scene, who: Member) =>
  who === 'admin' ? scene.world.admin.id : scene[who].id;
const at = (scene: Scene, who: Member, more = '') => `/v1/identities/${idOf(scene, who)}${more}`;

const forKeysAndReach = [...relations, ...stepchildren].flatMap(([as, to, error]): Claim[] => [
  {
    what: `${as} makes a key for ${to}`,
    as,
    error,
    request: async (scene) => ({
      method: 'POST',
      path: at(scene, to, '/keys'),
      body: { name: 'borrowed' },
    }),
  },
  {
    what: `${as} makes ${to} live for good`,
    as,
    error,
    request: async (scene) => ({
      method: 'PATCH',
      path: at(scene, to),
      body: { expires_at: null },
    }),
  },
  {
    what: `${as} lets ${to} inherit`,
    as,
    error: to === 'bot' && as === 'bot' ? 'forbidden' : error,
    request: async (scene) => ({
      method: 'PATCH',
      path: at(scene, to),
      body: { inherit_permissions: true },
    }),
  },
]);

const forTheRest = relations.flatMap(([as, to, error]): Claim[] => [
  ...(['archive', 'restore', 'revoke'] as const).map((verb): Claim => ({
    what: `${as} would ${verb} ${to}`,
    as,
    error,
    request: async (scene) => ({ method: 'POST', path: at(scene, to, `/${verb}`) }),
  })),
  {
    what: `${as} has the approved calls of ${to} run by themselves`,
    as,
    error,
    request: async (scene) => ({
      method: 'PATCH',
      path: at(scene, to),
      body: { auto_call_on_approve: true },
    }),
  },
]);

const forKeys = [...relations, ...stepchildren]
  .filter(([, to]) => to !== 'admin' && to !== 'mia')
  .map(([as, to, error]): Claim => ({
    what: `${as} revokes a key of ${to}`,
    as,
    error,
    request: async (scene) => {
      const keyId = await scene.keyOf(scene[to as Relative]);
      return { method: 'DELETE', path: at(scene, to, `/keys/${keyId}`) };
    },
  }));

const forParents = (
  [
    ...relations.filter(([as, to]) => as !== to),
    ...stepchildren,
    ['bot', 'child', 'forbidden'],
  ] as Relation[]
).map(([as, to, error]): Claim => ({
  what: `${as} puts a subagent below ${to}`,
  as,
  error,
  request: async (scene) => ({
    method: 'POST',
    path: '/v1/identities/subagents',
    body: { name: 'cuckoo', parent_id: idOf(scene, to), inherit_permissions: true },
  }),
}));

const forPlaces = (['bot', 'child'] as const).flatMap((to): Claim[] =>
  (['parent_id', 'owner_id', 'kind', 'role'] as const).map((field) => ({
    what: `bot gives ${to} another ${field}`,
    as: 'bot',
    error: 'invalid_request',
    request: async (scene) => ({
      method: 'PATCH',
      path: at(scene, to),
      body: { [field]: field === 'role' ? 'admin' : field === 'kind' ? 'user' : scene.twin.id },
    }),
  })),
);

/** The key of one under the name of another: the id of the key must not do instead of the identity's. */
const crossed: Claim = {
  what: 'bot revokes a key of twin as one of its child',
  as: 'bot',
  error: 'not_found',
  request: async (scene) => ({
    method: 'DELETE',
    path: at(scene, 'child', `/keys/${await scene.keyOf(scene.twin)}`),
  }),
};

export const claims: readonly Claim[] = [
  ...forKeysAndReach,
  ...forTheRest,
  ...forKeys,
  ...forParents,
  ...forPlaces,
  crossed,
];
