import { bind } from '#bus';
import type { Handlers } from '#bus';
import type { audit } from '#contracts/bus/audit';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import { getRecord } from './records/get-record.ts';
import { listRecords } from './records/list-records.ts';
import { verifyChain } from './records/verify-chain.ts';
import type { Rereading } from './unreadable/read-again.ts';
import { getUsage } from './usage/get-usage.ts';

export function createHandlers(
  deps: Deps,
  reader: Pick<Reader, 'state'>,
  unreadable: Pick<Rereading, 'count'>,
): Handlers<typeof audit> {
  return bind(deps, {
    list: listRecords,
    get: getRecord,
    verify: verifyChain,
    usage: getUsage,
    ping: async () => ({ reading: reader.state(), unreadable: unreadable.count() }),
  });
}
