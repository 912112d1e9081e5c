import { posix, win32 } from 'node:path'
import type { Environment } from '@toolcrib/mcp'
import type { OwnProgram } from '../terminal/own-program.ts'

/** How one system starts a program at login: a file, and the commands that make the system use it. */
export interface LoginItem {
  /** What people call it, such as `systemd user unit`. */
  readonly kind: string
  readonly path: string
  readonly text: string
  /** Windows reads task files in UTF-16 only. */
  readonly encoding: 'utf8' | 'utf16le'
  /** Run after the file is written. */
  readonly enable: readonly Command[]
  /** Run before the file is removed. */
  readonly disable: readonly Command[]
  /** Run after the file is removed. */
  readonly forget: readonly Command[]
}

export type Command = readonly [program: string, ...args: string[]]

export interface LoginPlace {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Environment
  readonly uid: number | undefined
  readonly program: Pick<OwnProgram, 'command' | 'args'>
  /** The config that the gateway reads. */
  readonly config: string
}

/** The login item of the gateway; undefined on a system without a known one. */
export function loginItem(place: LoginPlace): LoginItem | undefined {
  if (place.platform === 'linux') return systemdUnit(place)
  if (place.platform === 'darwin') return launchAgent(place)
  return place.platform === 'win32' ? scheduledTask(place) : undefined
}

const DESCRIPTION = 'Toolcrib, one gateway before your MCP servers'

function commandOf({ program: { command, args }, config }: LoginPlace): [string, ...string[]] {
  return [command, ...args, 'serve', '--config', config]
}

function systemdUnit(place: LoginPlace): LoginItem {
  const { home, env } = place
  const unit = 'toolcrib.service'
  const folder = env.XDG_CONFIG_HOME || posix.join(home, '.config')
  const systemctl = (...args: string[]): Command => ['systemctl', '--user', ...args]
  return {
    kind: 'systemd user unit',
    path: posix.join(folder, 'systemd', 'user', unit),
    text: `[Unit]
Description=${DESCRIPTION}

[Service]
ExecStart=${commandOf(place).map(inCommand).join(' ')}
Environment=${inUnit(`PATH=${env.PATH ?? ''}`)}
Restart=on-failure

[Install]
WantedBy=default.target
`,
    encoding: 'utf8',
    enable: [systemctl('daemon-reload'), systemctl('enable', '--now', unit)],
    disable: [systemctl('disable', '--now', unit)],
    forget: [systemctl('daemon-reload')],
  }
}

/** A quoted word of a unit file, where `%` begins a specifier. */
function inUnit(word: string): string {
  return `"${word.replace(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`
}

/** In a command, `$` begins a variable. */
function inCommand(word: string): string {
  return inUnit(word).replaceAll('$', '$$$$')
}

const LABEL = 'dev.toolcrib.gateway'

function launchAgent(place: LoginPlace): LoginItem {
  const { home, env, uid = 0 } = place
  const path = posix.join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`)
  const words = commandOf(place).map((word) => `    <string>${inXml(word)}</string>`)
  return {
    kind: 'launchd agent',
    path,
    text: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words.join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>${inXml(env.PATH ?? '')}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
`,
    encoding: 'utf8',
    enable: [['launchctl', 'bootstrap', `gui/${uid}`, path]],
    disable: [['launchctl', 'bootout', `gui/${uid}/${LABEL}`]],
    forget: [],
  }
}

const TASK = 'toolcrib'

function scheduledTask(place: LoginPlace): LoginItem {
  const { home, env } = place
  const folder = env.LOCALAPPDATA || win32.join(home, 'AppData', 'Local')
  const path = win32.join(folder, 'toolcrib', 'autostart.xml')
  const [command, ...args] = commandOf(place)
  return {
    kind: 'scheduled task',
    path,
    text: `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>${DESCRIPTION}</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <UserId>${inXml(userOf(env))}</UserId>
    </LogonTrigger>
  </Triggers>
  <Settings>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
  </Settings>
  <Actions>
    <Exec>
      <Command>${inXml(command)}</Command>
      <Arguments>${inXml(args.map(inArguments).join(' '))}</Arguments>
    </Exec>
  </Actions>
</Task>
`,
    encoding: 'utf16le',
    enable: [
      ['schtasks', '/Create', '/TN', TASK, '/XML', path, '/F'],
      ['schtasks', '/Run', '/TN', TASK],
    ],
    disable: [
      ['schtasks', '/End', '/TN', TASK],
      ['schtasks', '/Delete', '/TN', TASK, '/F'],
    ],
    forget: [],
  }
}

function userOf({ USERDOMAIN, USERNAME = '' }: Environment): string {
  return USERDOMAIN ? `${USERDOMAIN}\\${USERNAME}` : USERNAME
}

/** Paths contain no double quotes on Windows. */
function inArguments(word: string): string {
  return /[\s"]/.test(word) ? `"${word}"` : word
}

function inXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
