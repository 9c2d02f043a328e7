import { setTimeout as sleep } from 'node:timers/promises';

import type { AuditRecord } from '#contracts/audit';
import type { AuditVerification } from '#contracts/http/audit';
import { exitCodes } from '../exit-codes.ts';
import { Refusal } from '../refusal.ts';
import type { RestCall } from './command.ts';
import { listLimitMax, readLimit } from './limit.ts';
import { failuresMax, isNoAnswer, pauseMsAfter } from './lost-answer.ts';
import { formatJson, formatShown, writeLine } from './output.ts';
import type { Answer } from './output.ts';
import { readTime } from './time.ts';

interface TailOptions {
  readonly follow?: true;
  readonly limit?: string;
  readonly service?: string;
  readonly type?: string;
  readonly outcome?: string;
  readonly risk?: string;
  readonly since?: string;
  readonly search?: string;
}

const pauseMs = 2_000;

/**
 * `action-gateway audit tail`: prints the newest records, with the newest one last. `--follow` also
 * prints new records as they are written. With `--follow --json` each line is a record as JSON.
 */
export async function tailAudit({ api, options, isJson }: RestCall<TailOptions>): Promise<Answer> {
  const { service, type, outcome, risk, search: text, follow } = options;
  const since = readTime(options.since, '--since', 'ago');
  const query = { service, type, outcome, risk, since, text };
  const list = async (limit: number) => {
    const records = await api.list<AuditRecord>('/v1/audit', query, limit);
    return records.toReversed();
  };
  const records = await list(readLimit(options));
  if (follow === undefined) {
    return {
      data: records,
      show: {
        header: ['AT', 'TYPE', 'WHO', 'OUTCOME', 'WHAT', 'ID'],
        table: records.map(cellsOf),
      },
    };
  }
  for (let newRecords = records, lastSeq = 0; ;) {
    for (const record of newRecords) {
      lastSeq = record.seq;
      writeLine(
        isJson
          ? formatJson(record, { indent: 0 })
          : formatShown({ header: [], table: [cellsOf(record)] }, {}),
      );
    }
    await sleep(pauseMs);
    const newest = await listWithPatience(() => list(100));
    const isComplete = (newest[0]?.seq ?? 0) <= lastSeq + 1 || newest.length < 100;
    const candidates = isComplete ? newest : await listWithPatience(() => list(listLimitMax));
    newRecords = candidates.filter(({ seq }) => seq > lastSeq);
  }
}

/** Asks again when the gateway does not answer, at most ten times. */
async function listWithPatience<T>(list: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await list();
    } catch (error) {
      if (!isNoAnswer(error) || failures > failuresMax) throw error;
    }
    await sleep(pauseMsAfter(failures));
  }
}

function cellsOf({ at, type, identity, outcome, error, description, id }: AuditRecord) {
  const end = [outcome, error].filter((part) => part !== null).join(' ');
  return [at, type, identity?.path.join('/'), end, description, id];
}

/** `action-gateway audit verify`: exits with 1 when a record does not match its hash. */
export async function verifyAudit({ api }: RestCall): Promise<Answer> {
  const verification = await api.request<AuditVerification>('GET', '/v1/audit/verify');
  const { valid, rows_checked: count, first_bad_seq: badSeq, head } = verification;
  // An answer that is not the contract's must not pass for a log that is in order, or is not.
  const isResult = typeof valid === 'boolean' && valid === (badSeq === null);
  if (!isResult || !(valid || Number.isInteger(badSeq))) {
    throw new Refusal(
      'This is not the answer of a gateway: check the address. Nothing is verified.',
    );
  }
  return {
    data: verification,
    show: {
      facts: [
        ['valid', valid ? 'yes' : 'no'],
        ['records checked', count],
        ['first wrong record', badSeq],
        ['newest record', head?.seq],
        ['its hash', head?.hash],
      ],
    },
    note: valid
      ? 'Keep number and hash of the newest record elsewhere: they show later whether records were removed.'
      : `The record ${badSeq} is not as it was written: somebody changed the log.`,
    exitCode: valid ? exitCodes.done : exitCodes.failed,
  };
}
