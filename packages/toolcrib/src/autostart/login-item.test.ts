import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loginItem } from './login-item.ts'

const PLACE = {
  home: '/home/me',
  env: { PATH: '/usr/bin:/home/me/100%/bin' },
  uid: 501,
  program: { command: '/usr/bin/node', args: ['/opt/my "tools"/$x/main.js'] },
  config: '/home/me/a & b/toolcrib.toml',
}

describe('the login item', () => {
  it('is a unit of systemd on Linux, with every word quoted as it reads them', () => {
    const item = loginItem({ ...PLACE, platform: 'linux' })
    expect(item?.path).toBe('/home/me/.config/systemd/user/toolcrib.service')
    expect(item?.text).toBe(`[Unit]
Description=Toolcrib, one gateway before your MCP servers

[Service]
ExecStart="/usr/bin/node" "/opt/my \\"tools\\"/$$x/main.js" "serve" "--config" "/home/me/a & b/toolcrib.toml"
Environment="PATH=/usr/bin:/home/me/100%%/bin"
Restart=on-failure

[Install]
WantedBy=default.target
`)
    expect(item?.enable).toEqual([
      ['systemctl', '--user', 'daemon-reload'],
      ['systemctl', '--user', 'enable', '--now', 'toolcrib.service'],
    ])
  })

  it('is an agent of launchd on macOS, in valid XML', () => {
    const item = loginItem({ ...PLACE, platform: 'darwin' })
    expect(item?.path).toBe('/home/me/Library/LaunchAgents/dev.toolcrib.gateway.plist')
    expect(item?.text).toContain(`  <array>
    <string>/usr/bin/node</string>
    <string>/opt/my &#34;tools&#34;/$x/main.js</string>
    <string>serve</string>
    <string>--config</string>
    <string>/home/me/a &#38; b/toolcrib.toml</string>
  </array>`)
    expect(item?.text).toContain('<key>PATH</key>\n    <string>/usr/bin:/home/me/100%/bin</string>')
    expect(item?.disable).toEqual([['launchctl', 'bootout', 'gui/501/dev.toolcrib.gateway']])
  })

  it('is a scheduled task on Windows, of the user who logs in', () => {
    const env = { LOCALAPPDATA: 'C:\\Users\\me\\AppData\\Local', USERDOMAIN: 'PC', USERNAME: 'me' }
    const program = { command: 'C:\\Program Files\\nodejs\\node.exe', args: ['C:\\my tools\\main.js'] }
    const item = loginItem({ ...PLACE, platform: 'win32', env, program, config: 'C:\\toolcrib.toml' })
    expect(item?.path).toBe('C:\\Users\\me\\AppData\\Local\\toolcrib\\autostart.xml')
    expect(item?.encoding).toBe('utf16le')
    expect(item?.text).toContain('<UserId>PC\\me</UserId>')
    expect(item?.text).toContain('<Command>C:\\Program Files\\nodejs\\node.exe</Command>')
    expect(item?.text).toContain(
      '<Arguments>&#34;C:\\my tools\\main.js&#34; serve --config C:\\toolcrib.toml</Arguments>',
    )
  })

  it('is unknown elsewhere', () => {
    expect(loginItem({ ...PLACE, platform: 'aix' })).toBeUndefined()
  })
})

/** The files as the programs that read them see them, where these, or readers of the same format, are installed. */
describe('the login item, read by others', () => {
  const args = ['/opt/my "tools"/$x/%h/main.js']
  const program = { command: process.execPath, args }
  const itemOf = (platform: NodeJS.Platform) => {
    const item = loginItem({ ...PLACE, env: { ...PLACE.env, USERNAME: 'me & you' }, program, platform })
    if (item === undefined) throw new Error(`none on ${platform}`)
    return item
  }
  const read = (command: string, words: readonly string[], input?: Buffer | string) =>
    spawnSync(command, words, { input, encoding: 'utf8', timeout: 60_000 })
  const has = (command: string) => read(command, ['--version']).status === 0
  const words = [process.execPath, ...args, 'serve', '--config', PLACE.config]

  it.runIf(has('systemd-analyze'))('is a unit that systemd accepts, without a warning', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'unit-'))
    const path = join(folder, 'toolcrib.service')
    await writeFile(path, itemOf('linux').text)
    const env = { ...process.env, XDG_RUNTIME_DIR: folder }
    const command = ['systemd-analyze', ['verify', '--user', '--man=no', path]] as const
    const { status, stdout, stderr } = spawnSync(...command, { env, encoding: 'utf8', timeout: 60_000 })
    expect({ status, stdout, said: stderr.split('\n').filter((line) => line.includes('toolcrib')) }).toEqual({
      status: 0,
      stdout: '',
      said: [],
    })
    await rm(folder, { recursive: true })
  })

  it.runIf(has('python3'))('is a property list with the words as they were given', () => {
    const script =
      'import sys, json, plistlib; print(json.dumps(plistlib.loads(sys.stdin.buffer.read(), fmt=plistlib.FMT_XML)))'
    const { stdout, stderr } = read('python3', ['-c', script], itemOf('darwin').text)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({
      Label: 'dev.toolcrib.gateway',
      ProgramArguments: words,
      EnvironmentVariables: { PATH: PLACE.env.PATH },
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
    })
  })

  it.runIf(has('python3'))('is a task with what the schema of tasks requires, in UTF-16', () => {
    const script = `import sys, json, xml.etree.ElementTree as E
def tree(e): return {'name': e.tag, **e.attrib, 'text': (e.text or '').strip(), 'children': [tree(c) for c in e]}
print(json.dumps(tree(E.fromstring(sys.stdin.buffer.read()))))`
    const { text, encoding } = itemOf('win32')
    const { stdout, stderr } = read('python3', ['-c', script], Buffer.from(`\uFEFF${text}`, encoding))
    expect(stderr).toBe('')
    const texts: Record<string, string> = {}
    const visit = ({ name, text, children }: Element, path: string) => {
      expect(name.startsWith(TASK_NAMESPACE)).toBe(true)
      const here = `${path}/${name.slice(TASK_NAMESPACE.length)}`
      if (children.length === 0) texts[here] = text
      const names = children.map((child) => child.name.slice(TASK_NAMESPACE.length))
      expect(new Set(names).size).toBe(names.length)
      if (children.length > 0) expect(TASK_SCHEMA[here]).toEqual(expect.arrayContaining(names))
      for (const child of children) visit(child, here)
    }
    const task = JSON.parse(stdout) as Element & { version: string }
    visit(task, '')
    expect(task.version).toBe('1.2')
    expect(texts).toMatchObject({
      '/Task/Triggers/LogonTrigger/UserId': 'me & you',
      '/Task/Settings/ExecutionTimeLimit': 'PT0S',
      '/Task/Actions/Exec/Command': process.execPath,
    })
    expect(Object.keys(texts).at(-1)).toBe('/Task/Actions/Exec/Arguments')
  })
})

interface Element {
  readonly name: string
  readonly text: string
  readonly children: readonly Element[]
}

const TASK_NAMESPACE = '{http://schemas.microsoft.com/windows/2004/02/mit/task}'

/** The elements of version 1.2 of the schema that may stand where the task has some, from [MS-TSCH] 2.5. */
const TASK_SCHEMA: Record<string, readonly string[]> = {
  '/Task': ['RegistrationInfo', 'Triggers', 'Settings', 'Data', 'Principals', 'Actions'],
  '/Task/RegistrationInfo': ['URI', 'Author', 'Version', 'Date', 'Documentation', 'Description', 'Source'],
  '/Task/Triggers': ['BootTrigger', 'TimeTrigger', 'CalendarTrigger', 'LogonTrigger', 'IdleTrigger'],
  '/Task/Triggers/LogonTrigger': ['Enabled', 'StartBoundary', 'EndBoundary', 'UserId', 'Delay'],
  '/Task/Settings': [
    'AllowHardTerminate',
    'DisallowStartIfOnBatteries',
    'StopIfGoingOnBatteries',
    'MultipleInstancesPolicy',
    'ExecutionTimeLimit',
    'RestartOnFailure',
  ],
  '/Task/Actions': ['Exec', 'ComHandler', 'SendEmail', 'ShowMessage'],
  '/Task/Actions/Exec': ['Command', 'Arguments', 'WorkingDirectory'],
}
