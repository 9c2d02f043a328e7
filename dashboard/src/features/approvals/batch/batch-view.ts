import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import { mayDecide } from '../approval-view.ts';
import { needsSecondGesture } from '../second-gesture.ts';

/** The most approvals that can be decided together. */
export const batchMax = 20;

/**
 * Whether an approval can be decided together with others. It must be for an action of a service
 * and be shown whole, and a person must be able to judge it by its sentence. Calls by address and
 * calls of MCP tools have no such sentence.
 */
export function isBatchable(me: Me, approval: ApprovalResponse): boolean {
  return (
    isOpenApproval(approval) &&
    mayDecide(me, approval).isAllowed &&
    approval.verified &&
    !needsSecondGesture(approval) &&
    approval.service !== 'http' &&
    approval.request.method !== 'tools/call' &&
    !approval.permission_keys.some((key) => key.startsWith('http:'))
  );
}

/** Whether both calls are of the same action and service, by the same requester. */
export function areAlike(one: ApprovalResponse, other: ApprovalResponse): boolean {
  return (
    one.requester.id === other.requester.id &&
    one.service === other.service &&
    one.template === other.template &&
    one.action === other.action
  );
}

export interface ComparedField {
  readonly label: string;
  readonly value: string;
}

export interface Comparison {
  /** The fields that are equal in all calls. */
  readonly common: readonly ComparedField[];
  /** The other fields, by approval id. */
  readonly differing: ReadonlyMap<string, readonly ComparedField[]>;
}

/**
 * Separates what differs between the calls from what is equal in all of them. Parameters are
 * compared too: otherwise a difference would be invisible if the template discloses few fields.
 */
export function compareCalls(approvals: readonly ApprovalResponse[]): Comparison {
  const fieldsById = new Map(approvals.map((approval) => [approval.id, fieldsOf(approval)]));
  const labels = new Set([...fieldsById.values()].flatMap((fields) => [...fields.keys()]));
  const isCommon = (label: string) =>
    new Set([...fieldsById.values()].map((fields) => fields.get(label))).size === 1;
  const commonLabels = new Set([...labels].filter(isCommon));
  const [firstFields] = fieldsById.values();
  const pick = (fields: ReadonlyMap<string, string>, isPicked: (label: string) => boolean) =>
    [...fields].filter(([label]) => isPicked(label)).map(([label, value]) => ({ label, value }));
  return {
    common: pick(firstFields ?? new Map(), (label) => commonLabels.has(label)),
    differing: new Map(
      [...fieldsById].map(([id, fields]) => [
        id,
        withoutRepeats(pick(fields, (label) => !commonLabels.has(label))),
      ]),
    ),
  };
}

/** A parameter is left out if a disclosed field already shows its value. */
function withoutRepeats(fields: readonly ComparedField[]): ComparedField[] {
  return fields.filter(
    ({ label, value }, at) =>
      !label.startsWith(parameterPrefix) ||
      !fields.slice(0, at).some((earlier) => earlier.value === value),
  );
}

/**
 * Marks the labels of parameters. No disclosed label begins with a space, because labels are
 * trimmed.
 */
const parameterPrefix = ' ';

function fieldsOf({ disclosed, request }: ApprovalResponse): Map<string, string> {
  const { params } = request;
  const isRecord = typeof params === 'object' && params !== null && !Array.isArray(params);
  return new Map([
    ...disclosed.map(({ label, value, error }) => [label, error ?? value] as const),
    [
      'Account',
      request.credentials.map(({ account, name }) => account ?? name).join(', ') || 'none',
    ] as const,
    ...Object.entries(isRecord ? params : { request: params }).map(
      ([name, value]) =>
        [
          `${parameterPrefix}${name}`,
          typeof value === 'string' ? value : JSON.stringify(value),
        ] as const,
    ),
  ]);
}

/**
 * The fields that are equal in all calls, without the parameters, because each card shows those.
 */
export function shownCommonFields({ common }: Comparison): ComparedField[] {
  return common.filter(({ label, value }) => !label.startsWith(parameterPrefix) && value !== '');
}

/**
 * Runs a task for each item, at most `atOnce` at a time, and waits for all of them. Tasks must not
 * throw.
 */
export async function runBounded<Item>(
  items: readonly Item[],
  atOnce: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      // oxlint-disable-next-line no-await-in-loop -- each worker does one task after the other
      await task(item);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
