import { setTimeout as sleep } from 'node:timers/promises';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { readEvents } from '../mcp/event-stream.ts';
import { Refusal } from '../refusal.ts';
import { makePrintable } from '../words.ts';
import type { RestCall } from './command.ts';
import { failuresMax, isNoAnswer, pauseMsAfter } from './lost-answer.ts';
import { formatJson, printNote, writeLine } from './output.ts';
import type { Answer } from './output.ts';

const types = ['approval.raised', 'approval.bubbled', 'approval.resolved', 'execution.finished'];
const eventCharactersMax = 4 * 1_024 * 1_024;
const describedMax = 1_000;

interface ShownEvent {
  readonly type: string;
  readonly data: Partial<ApprovalResponse> & { readonly approval_id?: string };
}

/**
 * `action-gateway approvals watch`: prints a line for each approval that is open, is raised or
 * ends, until the person stops the command. With `--json` each line is the event as JSON.
 *
 * When the stream ends, it is opened again after the last event; the login is refreshed then if it
 * has expired. After ten failures in a row the command gives up.
 */
export async function watchApprovals({ api, isJson }: RestCall): Promise<Answer> {
  const { signal } = new AbortController();
  const describe = createDescriber();
  const show = (event: ShownEvent) =>
    writeLine(isJson ? formatJson(event, { indent: 0 }) : describe(event));
  let lastEventId: string | undefined;
  let isFirst = true;
  for (let failures = 0; ;) {
    try {
      const answer = await api.open('/v1/events', {
        query: { types: types.join(',') },
        headers: {
          accept: 'text/event-stream',
          ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        },
        signal,
      });
      if (isFirst) {
        printNote('Watching; stop with Ctrl+C.');
        // The list is read after the stream was opened, so that no approval is missed in between.
        const query = { status: 'open', sort: 'oldest' };
        const openApprovals = await api.list<ApprovalResponse>('/v1/approvals', query, 100);
        for (const data of openApprovals) show({ type: 'approval.raised', data });
        isFirst = false;
      }
      failures = 0;
      const stream = answer.body ?? new ReadableStream<Uint8Array>();
      for await (const event of readEvents(stream, eventCharactersMax, types)) {
        lastEventId = event.id ?? lastEventId;
        if (event.data !== '') show(JSON.parse(event.data) as ShownEvent);
      }
    } catch (error) {
      const isLost = !(error instanceof Refusal) || isNoAnswer(error);
      failures += 1;
      if (!isLost || isFirst || failures > failuresMax) throw error;
    }
    await sleep(pauseMsAfter(failures));
  }
}

/**
 * Creates the function that describes an event in one line. The events after `approval.raised` do
 * not say what the call does, so the function remembers the sentences of the last calls.
 */
function createDescriber(): (event: ShownEvent) => string {
  const descriptions = new Map<string, string>();
  return ({ type, data }) => {
    const [, what = type] = type.split('.');
    const id = data.id ?? data.approval_id ?? '';
    const description = data.action_description ?? descriptions.get(id);
    if (description !== undefined) descriptions.set(id, description);
    const [oldestId = ''] = descriptions.keys();
    if (descriptions.size > describedMax) descriptions.delete(oldestId);
    const requester = data.requester?.path.join('/');
    const outcome = data.status ?? data.execution?.status;
    return [what, id, data.risk, requester, description, outcome]
      .filter((part) => part !== undefined)
      .map(makePrintable)
      .join('  ');
  };
}
