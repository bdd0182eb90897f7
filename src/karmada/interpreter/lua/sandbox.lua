-- What a script of a user can see, and tables that are filled when they are first looked at.
--
-- Every call gets an environment of its own: fresh globals and fresh copies of the libraries. Nothing that a script can
-- reach is shared with another call, and no Python object is ever handed to a script.

local fetch, kube_call = ...

local error, pcall, type, pairs, next, select, tostring, tonumber = error, pcall, type, pairs, next, select, tostring, tonumber
local setmetatable, setfenv, load, unpack = setmetatable, setfenv, load, unpack
local floor, format, find, gmatch, gsub = math.floor, string.format, string.find, string.gmatch, string.gsub

if jit then jit.off() end

-- Lazy tables ---------------------------------------------------------------------------------------------------------

local handles = setmetatable({}, { __mode = "k" })
local lazy = {}

local function fill(object)
  local handle = object ~= nil and handles[object]
  if handle then
    handles[object] = nil
    setmetatable(object, nil)
    fetch(handle, object)
  end
  return object
end

lazy.__index = function(object, key) return fill(object)[key] end
lazy.__newindex = function(object, key, value) fill(object)[key] = value end

local function make_lazy(handle)
  local object = setmetatable({}, lazy)
  handles[object] = handle
  return object
end

local function handle_of(object) return handles[object] end

-- Globals -------------------------------------------------------------------------------------------------------------

local function refuse(name)
  return function() error("call function " .. name .. " is not supported in karmada customized resourceinterpreter.", 2) end
end

local function refuse_member(name)
  return function() error("The Lua function " .. name .. " is not supported by Karmada.", 2) end
end

local refused = {}
for _, name in pairs({ "collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile", "loadstring", "rawequal",
  "rawget", "rawset", "setfenv", "setmetatable", "module", "newproxy" }) do
  refused[name] = refuse(name)
end

-- Whole numbers are written with all their digits, and there is no negative zero.
local function to_string(value)
  if type(value) == "number" and value == floor(value) and value > -2 ^ 63 and value < 2 ^ 63 then
    return format("%d", value)
  end
  return tostring(value)
end

-- Text with an exponent is no number.
local function to_number(value, base)
  if type(value) == "string" and base == nil and find(value, "[eE]") and not find(value, "^%s*0[xX]") then return nil end
  if base == nil then return tonumber(value) end
  return tonumber(value, base)
end

-- Text where a number is wanted counts as zero if it is none.
local function format_text(pattern, ...)
  local values, index = { ... }, 0
  for verb in gmatch((gsub(pattern, "%%%%", "")), "%%[-+ #0]*%d*%.?%d*(%a)") do
    index = index + 1
    if find(verb, "[cdiouxXeEfgG]") and type(values[index]) == "string" and not tonumber(values[index]) then
      values[index] = 0
    end
  end
  return format(pattern, unpack(values, 1, select("#", ...)))
end

local function lazy_next(object, key)
  return next(fill(object), key)
end

local function lazy_pairs(object)
  return next, fill(object), nil
end

-- The metatable of strings keeps the real library, so what is refused must be refused there too.
string.rep, string.gsub, string.dump = refuse_member("string.rep"), refuse_member("string.gsub"), refuse_member("string.dump")
string.format = format_text

-- What looks at tables without asking their metatables.
local function filled(work)
  return function(object, ...) return work(fill(object), ...) end
end

local libraries = {
  string = string,
  table = {
    concat = filled(table.concat), insert = filled(table.insert), maxn = filled(table.maxn),
    remove = filled(table.remove), sort = filled(table.sort),
  },
  math = math,
  os = { time = os.time, date = os.date },
}
math.huge = 1.7976931348623157e308

local basics = {
  assert = assert, error = error, ipairs = ipairs, next = lazy_next, pairs = lazy_pairs, pcall = pcall, select = select,
  tonumber = to_number, tostring = to_string, type = type, unpack = unpack, xpcall = xpcall,
  print = function() end, _VERSION = "Lua 5.1",
}

local function copy(from, to)
  for name, value in next, from do to[name] = value end
  return to
end

local function helper(name)
  return function(...)
    local failed, result = kube_call(name, select("#", ...), ...)
    if failed then error(failed, 2) end
    return result
  end
end

local kube = {}
for _, name in pairs({ "accuratePodRequirements", "getPodDependencies", "resourceAdd", "getResourceQuantity" }) do
  kube[name] = helper(name)
end

local function environment()
  local globals = copy(basics, copy(refused, {}))
  for name, library in next, libraries do globals[name] = copy(library, {}) end
  globals._G = globals
  globals.require = function(name)
    if name == "kube" then return copy(kube, {}) end
    error("module " .. to_string(name) .. " not found", 2)
  end
  return globals
end

-- Calls ---------------------------------------------------------------------------------------------------------------

-- Text only: compiled code could do what no text can.
local function compile(script)
  return load(script, "=<string>", "t")
end

-- Runs the script, then the first of its functions that is named. Gives a word and what came back.
local function call(chunk, names, arguments, count)
  local globals = environment()
  setfenv(chunk, globals)
  chunk()
  for index = 1, #names do
    local entry = globals[names[index]]
    if type(entry) == "function" then
      return "done", entry(unpack(arguments, 1, count))
    elseif entry ~= nil then
      return "not-a-function", type(entry)
    end
  end
  return "function-not-found"
end

return compile, call, make_lazy, handle_of
