import type { Identity, PublicAgentKey } from '#contracts/http/identities';
import type { McpConnection } from '#contracts/http/oauth-clients';

export const stepNames = ['agent', 'service', 'ask', 'decide', 'client'] as const;
export type StepName = (typeof stepNames)[number];

/** What is known about a person's first steps. Members are undefined until they are known. */
export interface KnownState {
  readonly agent: Pick<Identity, 'name'> | null | undefined;
  readonly servicesCount: number | undefined;
  readonly approvalsCount: number | undefined;
  readonly decidedCount: number | undefined;
  readonly client: RealClient | null | undefined;
}

export type Progress = Readonly<Record<StepName, boolean>>;

/**
 * Which steps are done. Undefined until everything is known, so that no step seems to be undone
 * again.
 */
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

/** The first step that is not done. Undefined when all steps are done. */
export const nextStepOf = (progress: Progress): StepName | undefined =>
  stepNames.find((name) => !progress[name]);

/** The agent that the steps are about: the first active agent of the person. */
export function firstAgentOf(identities: readonly Identity[], personId: string): Identity | null {
  const own = identities.filter(
    ({ kind, owner_id: ownerId }) => kind === 'agent' && ownerId === personId,
  );
  return own.find(({ status }) => status === 'active') ?? null;
}

/** A program of the person that has made a request. */
export interface RealClient {
  readonly name: string;
  readonly at: string;
}

/** The name of the key with which the first steps make calls as the agent. */
export const playKeyName = 'first call from the dashboard';

/** A program that has used the agent, other than the dashboard itself. */
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
