import type { Identity, Me } from '#contracts/http/identities';

export type State = 'active' | 'paused' | 'expired' | 'revoked';

export interface Standing {
  readonly state: State;
  /**
   * The name of the identity above that causes this state. Null if the agent itself is in this
   * state.
   */
  readonly because: string | null;
}

export interface AgentNode {
  readonly identity: Identity;
  readonly standing: Standing;
  readonly children: readonly AgentNode[];
}

/** The agents of one person, as trees. */
export interface PersonAgents {
  readonly ownerId: string;
  readonly ownerName: string;
  readonly agents: readonly AgentNode[];
}

type Person = Pick<Me, 'id' | 'role'>;

/**
 * Whether the person may change this agent. Members may change their own agents, admins all agents.
 */
export function mayManage({ id, role }: Person, { owner_id }: Pick<Identity, 'owner_id'>): boolean {
  return role !== 'auditor' && (role === 'admin' || owner_id === id);
}

export function mayAddAgents({ role }: Pick<Me, 'role'>): boolean {
  return role !== 'auditor';
}

/** The state of an agent. `above` lists the identities above the agent, the nearest first. */
export function standingOf(
  identity: Identity,
  above: readonly Identity[],
  nowMs: number,
): Standing {
  const own = ownStateOf(identity, nowMs);
  if (own === 'revoked' || own === 'expired') return { state: own, because: null };
  const stopped = above.find((ancestor) => ownStateOf(ancestor, nowMs) !== 'active');
  if (own === 'active' && stopped !== undefined) {
    return { state: ownStateOf(stopped, nowMs), because: stopped.name };
  }
  return { state: own, because: null };
}

function ownStateOf({ status, expires_at }: Identity, nowMs: number): State {
  if (status === 'revoked') return 'revoked';
  if (expires_at !== null && Date.parse(expires_at) <= nowMs) return 'expired';
  return status === 'archived' ? 'paused' : 'active';
}

/**
 * Whether the agent can never act again. Lists leave such agents out unless the person wants to see
 * them.
 */
export const isOver = ({ state }: Standing) => state === 'revoked' || state === 'expired';

/**
 * Groups the agents by their person; the signed-in person comes first. Within a group, active
 * agents come first.
 */
export function groupByPerson(
  identities: readonly Identity[],
  me: Pick<Me, 'id' | 'name'>,
  nowMs: number,
): PersonAgents[] {
  const byId = new Map(identities.map((identity) => [identity.id, identity]));
  const childrenOf = Map.groupBy(identities, ({ parent_id }) => parent_id ?? '');
  const toNode = (identity: Identity): AgentNode => ({
    identity,
    standing: standingOf(identity, ancestorsOf(identity, byId), nowMs),
    children: toNodes(childrenOf.get(identity.id) ?? []),
  });
  const toNodes = (children: readonly Identity[]) =>
    children.map(toNode).toSorted((one, other) => orderOf(one) - orderOf(other));

  const agentsByOwner = Map.groupBy(
    identities.filter(({ kind }) => kind === 'agent'),
    ({ owner_id }) => owner_id,
  );
  return [...agentsByOwner]
    .map(([ownerId, agents]) => ({
      ownerId,
      ownerName: personNameOf(byId.get(ownerId) ?? agents[0]),
      agents: toNodes(agents),
    }))
    .toSorted(
      (one, other) =>
        Number(other.ownerId === me.id) - Number(one.ownerId === me.id) ||
        one.ownerName.localeCompare(other.ownerName),
    );
}

/**
 * The person at the start of an identity's path: `Ann Berg (ann)`, or only the handle if the
 * display name is unknown.
 */
export function personNameOf(
  identity: Pick<Identity, 'path' | 'display_name'> | undefined,
): string {
  const handle = identity?.path[0] ?? '';
  const displayName = identity?.display_name;
  return displayName === undefined ? handle : `${displayName} (${handle})`;
}

const stateOrder = ['active', 'paused', 'expired', 'revoked'];
const orderOf = ({ standing }: AgentNode) => stateOrder.indexOf(standing.state);

function ancestorsOf(identity: Identity, byId: ReadonlyMap<string, Identity>): Identity[] {
  const parent = byId.get(identity.parent_id ?? '');
  return parent === undefined ? [] : [parent, ...ancestorsOf(parent, byId)];
}

/** Leaves out agents that are over (revoked or expired), with everything below them. */
export function withoutOver(nodes: readonly AgentNode[]): AgentNode[] {
  return nodes
    .filter(({ standing }) => !isOver(standing))
    .map((node) => ({ ...node, children: withoutOver(node.children) }));
}

/** How many agents and subagents of these trees are over. */
export function countOver(nodes: readonly AgentNode[]): number {
  return nodes.reduce(
    (count, { standing, children }) => count + Number(isOver(standing)) + countOver(children),
    0,
  );
}

/**
 * Converts what a person types to a name that the gateway accepts: `Deploy bot` to `deploy-bot`.
 */
export function toAgentName(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 63);
}

/** The end of a day in the person's own time zone, as a timestamp. Null if `day` is no date. */
export function endOfDay(day: string): string | null {
  const [year, month, date] = day.split('-').map(Number);
  if (year === undefined || month === undefined || date === undefined) return null;
  return new Date(year, month - 1, date, 23, 59, 59).toISOString();
}

/** The day of a timestamp in the person's own time zone, in the format of a date field. */
export function dayOf(timestamp: string | null): string {
  if (timestamp === null) return '';
  const at = new Date(timestamp);
  const pad = (number: number) => String(number).padStart(2, '0');
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

/** The agent or subagent with this id, anywhere in the trees. */
export function findNode(nodes: readonly AgentNode[], id: string): AgentNode | undefined {
  for (const node of nodes) {
    const found = node.identity.id === id ? node : findNode(node.children, id);
    if (found !== undefined) return found;
  }
  return undefined;
}
