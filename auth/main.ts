import { runComponent } from '#process';
import { authConfig } from './config.ts';
import { startAuth } from './start.ts';

await runComponent(authConfig, async (config) => {
  const runningAuth = await startAuth(config);
  // The link is a credential. It is printed for the person who started auth, and is never logged.
  if (runningAuth.firstSignInUrl !== null)
    process.stdout.write(`Sign in: ${runningAuth.firstSignInUrl}\n`);
  return runningAuth;
});
