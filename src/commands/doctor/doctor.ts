/** `portcullis doctor`: what is wrong with settings, machine and surroundings, each with its mend. */

import { processEnvironment } from '../../config/environment.ts';
import { readLogo } from '../../config/logo.ts';
import { misspeltSettings } from '../../config.ts';
import { systemClock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { systemRandom } from '../../core/random.ts';
import { counted } from '../../core/text-table.ts';
import { loadNative } from '../../http/native.ts';
import { readSettings } from '../../operations/workspace.ts';
import type { Output } from '../shell/output.ts';
import { type Finding, fault, fine, runCheck } from './finding.ts';
import {
  inspectBackups,
  inspectDisk,
  inspectFileSystem,
  inspectGeo,
  inspectMemory,
  inspectOpenFiles,
  inspectPermissions,
  inspectStore,
} from './machine.ts';
import {
  inspectAnswer,
  inspectExposure,
  inspectHealthPort,
  inspectMail,
  inspectTls,
} from './network.ts';

/**
 * @param settingsFile what `--settings` names
 * @throws OperatorError when something must be mended
 */
export async function doctor(output: Output, settingsFile?: string): Promise<void> {
  const findings = await examine(settingsFile);
  for (const { about, state, found, mend } of findings) {
    output.line(`${state.padEnd(6)}  ${about}: ${found}${mend === '' ? '' : `. ${upper(mend)}`}`);
  }
  const faults = findings.filter(({ state }) => state === 'mend').length;
  output.result({ ok: faults === 0, findings });
  if (faults === 0) return;
  throw new OperatorError(`${counted(faults, 'thing')} to mend`);
}

async function examine(settingsFile: string | undefined): Promise<Finding[]> {
  try {
    const config = readSettings();
    const clock = systemClock();
    if (config.siteLogo !== undefined) readLogo(config.siteLogo);
    return [
      fine('settings', 'all can be read'),
      ...misspeltSettings(Object.keys(processEnvironment())).map((found) =>
        fault('settings', found, 'correct the name, or remove it from the environment'),
      ),
      inspectNative(config.webServerSha256),
      ...(await runCheck('open files', inspectOpenFiles)),
      ...(await runCheck('memory', inspectMemory)),
      ...(await runCheck('permissions', () => inspectPermissions(config, settingsFile))),
      ...(await runCheck('disk', () => inspectDisk(config))),
      ...(await runCheck('disk', () => inspectFileSystem('DATA_DIR', config.dataDir, config))),
      ...(await runCheck('store', () => inspectStore(config, clock, systemRandom()))),
      ...(await runCheck('backups', () => inspectBackups(config, clock.now()))),
      ...(await runCheck('exposure', () => inspectExposure(config))),
      inspectHealthPort(config),
      ...(await runCheck('address', () => inspectAnswer(config))),
      ...(await runCheck('geo', () => inspectGeo(config, clock.now()))),
      ...(await runCheck('tls', () => inspectTls(config, clock.now()))),
      ...(await runCheck('mail', () => inspectMail(config))),
    ];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const found = fault('settings', error.message, 'mend the setting, then run this again');
    return [found, inspectNative()];
  }
}

function inspectNative(trustedSha256?: string): Finding {
  try {
    loadNative(trustedSha256);
    return fine('platform', `Node ${process.version} and the web server go together`);
  } catch (error) {
    const mend = 'use Node 20.20, 22 or 24 on a platform that README.md names';
    return fault('platform', (error as Error).message, mend);
  }
}

function upper(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
