-- What a script of a user can see, and tables that are filled when they are first looked at.
--
-- Every call gets an environment of its own: fresh globals and fresh copies of the libraries. Nothing that a script can
-- reach is shared with another call, and no Python object is ever handed to a script.

local fetch, kube_call = ...

local error, pcall, type, pairs, next, select, tostring, tonumber = error, pcall, type, pairs, next, select, tostring, tonumber
local setmetatable, setfenv, load, unpack = setmetatable, setfenv, load, unpack
local floor, format, find, match, gmatch, gsub = math.floor, string.format, string.find, string.match, string.gmatch, string.gsub
local concat = table.concat
local os_date = os.date

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

-- As few digits as name the number; from a million on with an exponent.
local function fraction(value)
  for digits = 0, 16 do
    local text = format("%." .. digits .. "e", value)
    if tonumber(text) == value then
      local exponent = tonumber(match(text, "e(.+)"))
      if exponent < -4 or exponent >= 6 then return text end
      return format("%." .. (digits > exponent and digits - exponent or 0) .. "f", value)
    end
  end
end

-- Whole numbers are written with all their digits, and there is no negative zero.
local function to_string(value)
  if type(value) ~= "number" then return tostring(value) end
  if value ~= value then return "NaN" end
  if value == 1 / 0 then return "+Inf" end
  if value == -1 / 0 then return "-Inf" end
  if value == floor(value) and value > -2 ^ 63 and value < 2 ^ 63 then return format("%d", value) end
  return fraction(value)
end

-- A function of text that takes a number for the text by which it is written.
local function texted(work)
  return function(subject, ...)
    if type(subject) == "number" then subject = to_string(subject) end
    return work(subject, ...)
  end
end

-- Text with an exponent is no number.
local function to_number(value, base)
  if type(value) == "string" and base == nil and find(value, "[eE]") and not find(value, "^%s*0[xX]") then return nil end
  if base == nil then return tonumber(value) end
  return tonumber(value, base)
end

-- A value that is no number where one is wanted, in the reference's words; text counts as zero.
local function not_a_number(verb, value)
  if type(value) == "boolean" then return "%!" .. verb .. "(lua.LBool=" .. tostring(value) .. ")" end
  return value == nil and "&{}" or tostring(value)
end

-- Never fails on what it is given: what is missing or has another type is named in the text.
local function format_text(pattern, ...)
  local values, count, index, used = { ... }, select("#", ...), 0, {}
  local text = gsub(pattern, "(%%[-+ #0]*%d*%.?%d*)(.)", function(flags, verb)
    if verb == "%" then return nil end
    index = index + 1
    local value = values[index]
    if index > count then
      used[#used + 1] = "%!" .. verb .. "(MISSING)"
      return "%s"
    elseif not find(verb, "[cdiouxXeEfgG]") then
      used[#used + 1] = to_string(value)
      return nil
    elseif type(value) == "number" or type(value) == "string" then
      used[#used + 1] = tonumber(value) or 0
      return nil
    end
    used[#used + 1] = not_a_number(verb, value)
    return "%s"
  end)
  return format(text, unpack(used))
end

-- Without arguments the time as text; else the first has to be a pattern.
local function date(...)
  local pattern = ...
  if select("#", ...) > 0 and type(pattern) ~= "string" and type(pattern) ~= "number" then
    error("bad argument #1 to date (string expected, got " .. type(pattern) .. ")", 2)
  end
  return os_date(...)
end

local function lazy_next(object, key)
  return next(fill(object), key)
end

local function lazy_pairs(object)
  return next, fill(object), nil
end

-- The metatable of strings keeps the real library, so what is refused must be refused there too.
string.rep, string.gsub, string.dump = refuse_member("string.rep"), refuse_member("string.gsub"), refuse_member("string.dump")
string.format, string.gfind = format_text, gmatch
for _, name in pairs({ "byte", "find", "gmatch", "len", "lower", "match", "reverse", "sub", "upper" }) do
  string[name] = texted(string[name])
end

-- What looks at tables without asking their metatables.
local function filled(work)
  return function(object, ...) return work(fill(object), ...) end
end

local function join(list, separator, first, last)
  local words = {}
  for index, value in next, list do words[index] = type(value) == "number" and to_string(value) or value end
  return concat(words, separator, first, last or #list)
end

local libraries = {
  string = string,
  table = {
    concat = filled(join), insert = filled(table.insert), maxn = filled(table.maxn),
    remove = filled(table.remove), sort = filled(table.sort), getn = function(list) return #fill(list) end,
  },
  math = math,
  os = { time = os.time, date = date },
}
math.huge = 1.7976931348623157e308
-- What is no number stays the extreme that it began as.
local function extreme(choose, is_beyond)
  return function(first, ...)
    choose(first, ...)
    local found = tonumber(first)
    for index = 1, select("#", ...) do
      local value = tonumber((select(index, ...)))
      if is_beyond(value, found) then found = value end
    end
    return found
  end
end
math.max = extreme(math.max, function(one, other) return one > other end)
math.min = extreme(math.min, function(one, other) return one < other end)
math.mod = function(one, other) return one % other end

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
  local loaded = { _G = globals, math = globals.math, os = globals.os, string = globals.string, table = globals.table }
  globals.require = function(name)
    if name == "kube" then return copy(kube, {}) end
    if loaded[name] then return loaded[name] end
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
