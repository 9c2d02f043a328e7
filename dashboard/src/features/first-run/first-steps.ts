import type { Identity, PublicAgentKey } from '#contracts/http/identities';
import type { McpConnection } from '#contracts/http/oauth-clients';

export const stepNames = ['agent', 'service', 'ask', 'decide', 'client'] as const;
export type StepName = (typeof stepNames)[number];

/** What is known of a person's first steps; undefined while it is not known yet. */
export interface KnownState {
  readonly agent: Pick<Identity, 'name'> | null | undefined;
  readonly servicesCount: number | undefined;
  readonly approvalsCount: number | undefined;
  readonly decidedCount: number | undefined;
  readonly client: RealClient | null | undefined;
}

export type Progress = Readonly<Record<StepName, boolean>>;

/** Which steps are done; undefined until everything is known, so that no step changes back. */
export function progressOf(state: KnownState): Progress | undefined {
  const { agent, servicesCount, approvalsCount, decidedCount, client } = state;
  if (agent === undefined || client === undefined) return undefined;
  if (servicesCount === undefined || approvalsCount === undefined || decidedCount === undefined) {
    return undefined;
  }
  return {
    agent: agent !== null,
    service: servicesCount > 0,
    ask: approvalsCount > 0,
    decide: decidedCount > 0,
    client: client !== null,
  };
}

/** The step to take now; undefined when all are done. */
export const nextStepOf = (progress: Progress): StepName | undefined =>
  stepNames.find((name) => !progress[name]);

/** The agent that the steps are about: the first of the person's own that can act. */
export function firstAgentOf(identities: readonly Identity[], personId: string): Identity | null {
  const own = identities.filter(
    ({ kind, owner_id: ownerId }) => kind === 'agent' && ownerId === personId,
  );
  return own.find(({ status }) => status === 'active') ?? null;
}

/** A program of the person's that has made a request. */
export interface RealClient {
  readonly name: string;
  readonly at: string;
}

/** The name of the key with which this page makes calls as the agent. */
export const playKeyName = 'first call from the dashboard';

/** The program that has used the agent first, other than this page. */
export function findRealClient(
  keys: readonly PublicAgentKey[],
  clients: readonly McpConnection[],
): RealClient | null {
  const used = [
    ...keys
      .filter(({ name }) => name !== playKeyName)
      .map(({ name, last_used_at: at }) => ({ name, at })),
    ...clients.map(({ client_name: name, last_used_at: at }) => ({ name, at })),
  ];
  return used.find((each): each is RealClient => each.at !== null) ?? null;
}
