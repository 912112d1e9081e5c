import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createGateway } from 'toolcrib/gateway'
import { openFromConfig } from 'toolcrib/mcp'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { useCommandLine } from './cli-folder.fixture.ts'
import { PET_SHOP } from './fixtures/pet-shop.ts'
import { connectClient, listening, URL_OF_GATEWAY } from './gateway.fixture.ts'

const { path, toolcrib, environment } = useCommandLine()
const SPEC = JSON.stringify(PET_SHOP)
let server: Server
let baseUrl: string

beforeAll(async () => {
  server = createServer((request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ asked: request.url })),
  )
  baseUrl = await listening(server)
})
afterAll(() => server.close())

/** Writes a config with one API. */
const configure = (more = '') =>
  writeFileSync(path('toolcrib.toml'), `[openapi.shop]\nspec = "shop.json"\nbase_url = "${baseUrl}"\n${more}`)
beforeEach(() => {
  writeFileSync(path('shop.json'), SPEC)
  configure()
})

it('lists, finds and calls the operations of a configured API', async () => {
  const listed = await toolcrib('list')
  expect(listed).toMatchObject({ status: 0, stderr: '' })
  expect(listed.stdout).toContain('from 0 servers and 1 API')
  expect((await toolcrib('search', 'list all pets')).stdout).toContain('openapi__shop__listPets')
  const called = await toolcrib('call', 'shop.getPet', '{"id":"7"}')
  expect(called).toMatchObject({ status: 0, stdout: expect.stringContaining('/pets/7') })
  expect((await toolcrib('doctor')).stdout).toContain('shop  8 operations')
})

it('says what is wrong with a table or a document, and loses nothing else', async () => {
  configure('deny = ["deletePets"]')
  const misspelt = await toolcrib('doctor')
  expect(misspelt).toMatchObject({ status: 1, stdout: expect.stringContaining('did you mean "deletePet"?') })
  expect(misspelt.stdout).toContain('correct [openapi.shop]')
  configure('sha256 = "00"')
  const { stderr } = await toolcrib('list')
  expect(stderr).toContain(createHash('sha256').update(SPEC).digest('hex'))
  writeFileSync(path('toolcrib.toml'), `require_lock = true\n[openapi.shop]\nspec = "shop.json"\n`)
  expect((await toolcrib('list')).stderr).toContain(
    `add sha256 = "${createHash('sha256').update(SPEC).digest('hex')}"`,
  )
  configure('specs = "x"')
  expect((await toolcrib('list')).stderr).toContain('did you mean "spec"?')
})

it('is served by the gateway, for the profiles that name it', async () => {
  writeFileSync(
    path('mcp.toml'),
    `[openapi.shop]\nspec = "shop.json"\nbase_url = "${baseUrl}"\n[profile.none]\nservers = []\n`,
  )
  const opened = await openFromConfig({ path: path('mcp.toml'), env: environment(), store: false })
  const { registry, servers } = opened
  await opened.apis()
  const gateway = createGateway({ registry, servers, profiles: opened.config.profiles ?? {} })
  onTestFinished(() => gateway.close())
  onTestFinished(() => opened.close())
  const call = { name: 'call_tool', arguments: { name: 'shop.getPet', arguments: { id: 'a' } } }
  const client = await connectClient(gateway, { era: 'modern' })
  expect(JSON.stringify((await client.callTool(call)).content)).toContain('/pets/a')
  const narrow = await connectClient(gateway, { url: `${URL_OF_GATEWAY}/none` })
  expect(await narrow.callTool(call)).toMatchObject({ isError: true })
  // A change of the table applies although its document can no longer be read; without one, the tools stay.
  rmSync(path('shop.json'))
  const again = { ...opened, config: { ...opened.config, openapi: { ...opened.config.openapi } } }
  await opened.reload(again)
  expect(await opened.apis()).toMatchObject([{ api: 'shop', operations: 8, failure: expect.any(String) }])
  const [[api, table] = ['', { spec: '' }]] = Object.entries(opened.config.openapi ?? {})
  await opened.reload({
    ...opened,
    config: { ...opened.config, openapi: { [api]: { ...table, deny: ['deletePet'] } } },
  })
  expect(registry.size).toBe(0)
  await opened.reload({ ...opened, config: { ...opened.config, openapi: {} } })
  expect(registry.size).toBe(0)
})
