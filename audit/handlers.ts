import type { Handlers } from '#bus';
import type { audit } from '#contracts/bus/audit';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import { getRecord } from './usecases/get-record.ts';
import { listRecords } from './usecases/list-records.ts';
import { verifyChain } from './usecases/verify-chain.ts';

export function createHandlers(deps: Deps, reader: Pick<Reader, 'state'>): Handlers<typeof audit> {
  return {
    list: (request) => listRecords(deps, request),
    get: (request) => getRecord(deps, request),
    verify: (request, deadline) => verifyChain(deps, request, deadline),
    ping: async () => ({ reading: reader.state() }),
  };
}
