"""Everyday words: those of a question that say nothing of what it is about, and those that say little.

Whoever asks an agent to write, fix or explain something uses the same words, whatever it is about. English has the
longest lists, since a bundle's own frequencies say nothing of a word that is in it twice; other languages have the
words without which no sentence does.
"""

from __future__ import annotations

from functools import cache, lru_cache

from gitmem.index import english
from gitmem.text.words import STOP

# Says nothing: what one asks an agent to do, how one speaks to it, and what all of it is made of.
_EMPTY = """able above absolutely accept access achieve across act actual add additional adjust after afternoon afterwards
again against ago agree ah ahead allow almost alone along already alright although always amazing amid among
amount analyse analyze another answer anybody anymore anyone anything anyway anywhere apart appear apply
appropriate around arrange ask assist assume attempt available aware away awesome back bad base basic basically
beautify become before begin behind believe below beside best better between beyond big biggest bit boring
brainstorm break brief brilliant bring build bullet bunch bye calculate call cannot care carry case cause
certain change check cheers choose clarify clean clear close code come command comment common compare comparison
complete compute concept concise consider contain content continue contrast convert cool copy correct count
couple course create critique current cut date day deal dear decide decision default define definitely delete
demonstrate depend describe despite detail determine develop differ difference different difficult directly
discuss display doable doing done double doubt down draft draw due during each earliest early easy edit effect
eight either elaborate else end enjoy enough ensure entire enumerate especially estimate etc evaluate even
eventually ever every everybody everyone everything everywhere exact example excellent except exist expect
explain explanation express extra extremely fact fairly false far fast fastest feel figure file fill final find
fine finish first fit five fix follow forget form formal format forth forward four free friendly full fully fun
function further gather general generate get give glad goes going gone gonna good got grammar great greet guess
guide half handle happen happy hard hate having hello help helpful hence here hey hi high highest highlight hint
hmm hold hope hopefully hour however huge hundred idea identify ignore illustrate imagine immediately implement
important impossible improve include increase indeed indicate insert inside install instance instead instruct
instruction interest introduce introduction involve item join judge keep kind know lack large largest last late
latest lead learn least leave less let like limit line list listen little live load lol long longest look lot
love low lowest main major make manage many mark match matter may maybe mean meanwhile mention mere method
middle might mind minor minute miss mistake modify moment month moreover morning mostly move much multiple must
myself name near necessary need neither never nevertheless new newest next nice night nine nobody none nope
normal note nothing notice now nowhere number obvious occur odd off often oh ok okay old oldest once one only
onto open opinion option ordinary original others otherwise ought ours ourselves out outline output outside over
overall own paraphrase part particular pass past paste per perfect perform perhaps phrase pick piece place plain
play please pls plus plz point polite possible possibly post practice prefer prepare present pretty prevent
previous print prior probably proceed process produce proofread proper provide pull purpose push put question
quick quiet quite random range rather reach read readable ready real reason receive recent recommend record
reduce refactor refer reformat regard regular related relevant remain remember remind remove rename repeat
rephrase replace reply represent request require respond rest result retry return reverse reword rewrite right
rough rule run sad same save say scratch search second section see seem select send sense sentence separate
serious set settle seven several shall share short shorten shortest show side similar simple simplify simply
since single situation six size skip slight slow small smallest solution solve somebody somehow someone
something sometimes somewhat somewhere soon sorry sort sound speak specific specify spell spellcheck split stand
start state stay step still stop straight strange stuff style sudden suggest suggestion suit suitable summarise
summarize summary super suppose sure switch synonym take talk task tell ten term test text thank therefore thing
think third though thought thousand three through throughout thus thx tidy till time tip today together tomorrow
tone tonight tool top total touch toward translate translation treat true try turn twice two type typical um
under understand unique unless unlike until upcoming upon upper usage use useful usual value various version
versus via view vs wait walk wanna want way week weird welcome well went whatever whenever whereas whereby
wherever whether whichever whilst whoever whole willing wish within without wonder word work worst worth write
wrong ya yeah year yep yes yesterday yet yourself zero"""

# Says little: everybody speaks of these, so one of them alone is chance.
_COMMON = """ability absence accident account achievement action activity actor actress address adjective admit adult
adventure adverb advice advise afford africa age agent agreement aim air airport alarm album alcohol algebra
algorithm alphabet alphabetical ambition america american analysis android anger angle angry angular animal
ankle anniversary announce annoy antonym anxiety anxious apartment api apologize app appearance appetite apple
application appointment approach approve april arabic area argue argument arm army array arrest arrival arrive
art article artist ascii asia aspect assign assignment assistant async asynchronous atmosphere attach attachment
attack attend attention attitude attract audience august aunt australia author authority autumn average avoid
await award awful awkward aws azure baby backend background bag bake balance balcony ball balloon banana band
bank bar bash basket bath bathroom battery battle beach bean bear beat beautiful beauty bed bedroom bee beef
beer beg beginner behave behavior behaviour beijing being belief bell belong belt bend benefit berlin bicycle
bike binary biology bird birth birthday biscuit bite bitter black blame blanket bless blind block blog blood
blow blue board boat body boil bomb bone book boolean boot border bored borrow boss bottle bottom bounce bowl
box boy bracket brain branch brand brave brazil bread breakfast breath breathe breeze brick bride bridge bright
britain british broad broadcast broken brother brown browser brush bucket budget bug building burger burn bury
bus bush business busy butter butterfly button buy byte cabin cable cache cafe cake calendar california callback
calm camel camera camp campaign canada cancel candidate candle candy capital captain capture car careful
careless carpet carrot cart cast castle cat catch category ceiling celebrate celebration cell celsius center
centimetre centre century ceremony chain chair challenge champion chance channel chapter character charge
charity chart chase chat cheap cheat cheer cheese chemistry chess chest chew chicken child chin china chinese
chip chocolate choice chop church cigarette cinema circle citizen city clap class classroom clever client
climate climb clipboard clock cloth cloud club coach coast coat codebase coffee coin cold collapse collect
collection college color colour column combine comedy comfort comfortable commit committee communicate
communication community company compass compete competition compiler complain complaint complex complexity
component computer concatenate concentrate concern concert conclusion condition conference confidence confident
config configuration confirm conflict confuse congratulate connect connection conscious consequence constant
construct construction constructor consumer contact container context contract control convenience conversation
convince cook copper corn cosine cost cotton council counter country court cousin cover cow crash crawl cream
creature credit crime criminal crisis criticism crop cross crowd crown cruel cry css csv cube culture cup cure
curious curl currency cursor curtain custom cute cycle dad damage damp dance danger dangerous dare dark data
database dataset daughter dead deadline death debate debt debug decade december decorate decorator decrease deep
defeat defence defend defense definition degree delay delight deliver delivery demand democracy dentist
department dependency deploy depth derivative deserialize desert deserve design desire desk dessert destination
destroy destruction detect detective development device devil diamond diary dict dictionary diet difficulty
digit dinner direction director directory dirt dirty disagree disappear disaster discipline discount discover
discovery discussion disease dish disk dislike distance div divide division django docker docstring doctor
document docx dog dollar dolphin dominate donate donkey door dot dragon drama drawer drawing dream dress drink
drive drop drug drum dry duck dull dust dutch duty eager ear earn earth earthquake ease east eat economy edge
editor education efficiency effort egg egypt elbow election electric elegant element elephant elevator emacs
email emergency emoji emotion emperor employ employee employment empty encourage endpoint enemy energy engage
engine england english enhance enormous enter entertainment enthusiasm entrance enum env envelope environment
equal equation equipment era error escape essay essence estate ethanol euro europe event evidence evil evolution
exam examine excel exception exchange excite excitement excuse exe exercise existence exit exotic expand
expansion expense expensive experience experiment expert expire explode explore explosion export expression
extend extent extreme eye face factor factory fade fahrenheit fail fair fairy faith faithful fall fame family
famous fan fancy farm fashion fastapi fasten fat fate father fault favor favorite favourite fear feather feature
february fee feedback feeling female fence fetch fever fibonacci fiction field fierce fight film filter finance
finger fire firewall firm fish fixture flag flame flash flask flat flavor flavour flexbox flight float flood
floor flour flow flu fly focus fog fold folk fond food fool foolish foot football forbid force foreign forest
forgive formula fortune foundation fox fraction fragile frame framework france freedom freeze french frequent
fresh friday fridge friend frightened frog frontend fruit fuel fund funeral funny fur furniture future gain
galaxy gallery gallon gamble game gap garage garden garlic gas gate gay gcp gear gender gene generation
generator generous gentle geometry german germany gesture ghost giant gift giraffe girl git github glass global
glow glue goal goat god golang gold golden goldfish golf google government grab grade grain gram grand
grandfather grandmother grant grape graph grass grateful gravity gray greece greedy greek green greenhouse grey
grim grip grocery ground group grow growth guarantee guard guest guidance guilty guitar guy gym habit haiku hair
hall ham hand handsome hang harbor harbour hardware harm harmful harmony hash hat hatred head headache heal
health healthy heap hear heart heat heaven heavy hebrew height helicopter hell helmet helpless hen herb heritage
hero hide highway hill hindi history hit hobby hole holiday hollow holy home honest honey honor honour horrible
horror horse hospital host hot hotel house household html http hug human humble humor humour hunger hungry hunt
hurricane hurry hurt husband hypotenuse ice icon ideal ill illegal illness illusion image immediate impact
import impress impression improvement inch incident income independence independent index india industry
inflation influence inform information ingredient inheritance inject injure injury innocent input inquiry insect
inspect inspire insurance integer integral intelligence intelligent intend intense intention interface internal
internet interrupt interview invent invest investment invitation invite ios iphone ipv ipv4 iron irritate island
issue italian italy iterate iteration iterator jacket jail jam january japan japanese jar java javascript jaw
jazz jealous jeans jelly jet jewel job jog joint joke journal journalist journey joy jpeg jpg json juggle juice
july jump june jungle junior jury justice keen kernel kettle key keyboard kick kid kill kilo kilogram kilometer
king kingdom kiss kitchen knee kneel knife knight knit knock knowledge korean kotlin kubernetes lab label
laboratory ladder lady lake lambda lamp land lane language lap laptop laser latency latin laugh launch law
lawyer lay layout lazy leader leaf league lean leather lecture left leg legal legend lemon lend length lens
lesson letter level liberal liberty library license lick lie life lift light lightning limerick limp link linter
linux lion lip liquid liter literature litre lively loan local localhost location lock log logarithm logic login
london lonely loop loose lord lorry lose loss loud loyal luck lucky luggage lunch lung luxury machine macos
macro mad madrid magazine magic magician mail majority male mammal man manager manufacture map march markdown
market marriage marry mask mass master math mathematician mathematics matrix mature maximum mayor maze meal
measure measurement meat mechanism media medical medicine meet melt member membership memory men mental menu
merge mess message metal meter metre mexico middleware midnight migrate mild mile military milk million mine
mineral minimum minister minority miracle mirror mission mix mixture mobile mode model modern module moisture
monday money mongodb monitor monkey monster mood moon moral moscow mosquito mother motion motivation motor
mountain mourn mouse mouth movie mud mug multiplication multiply murder muscle museum mushroom music musician
mutual mysql mysterious mystery myth nail naked namespace narrow nasty nation natural nature navy neat neck
needle negative negotiate neighbor neighbour nerve nervous nest net network newspaper nextjs nginx nightmare
noble nod node noise noisy noodle noon north nose notebook noun novel november npm null nullable numeric
numerous numpy nurse nut obedient obey object objective obligation observe obstacle obtain ocean october octopus
office official oil onion online openssl opera operation operator opponent opportunity oppose opposite optimize
optional orange orchestra order organ organisation organise organization organize origin ounce outcome outer
oven overcome owl owner oxygen pack package page pain paint pair palace pale palindrome pan pancake panda panel
panic paper parade paradise paragraph parallel parameter parcel pardon parent paris park parliament parse
participate partner party passage passenger passion passive passphrase passport password pasta patch path
patient pattern pause pay payload pdf pea peace peach peak pear pedestrian peel pen pencil penguin penny pension
people pepper percent performance perimeter period perl permanent permission person personal perspective
persuade pet philosophy phone photo photograph php physics pi piano picnic picture pie pig pigeon pile pill
pillow pilot pin pinch pink pint pip pipe pipeline pirate pixel pizza plan plane planet plant plastic plate
platform player pleasant pleasure plot plum plural png pocket poem poet poetry pointer poker pole police policy
polish political politician politics pollution polynomial pond pool poor pop popular population port portuguese
position positive possess postgres pot potato potential pound poverty powder power powerful powershell practical
practise praise pray preach precious precise predict preference pregnant prejudice presence presentation
preserve president press pressure pretend price priest primary prime prince princess principle prioritize prison
private prize probability problem procedure product profession professional professor profile profit program
progress project promise promote prompt pronounce proof property prose prospect protect protein protest
prototype proud prove proxy psychology pub public publication publish pump punch punish punishment pupil puppy
purchase pure purple purse puzzle pyramid python quadratic qualify quality quantity quarter queen query queue
quit quote rabbit race radio radius rain rainbow raise rapid rare rat rate ratio raw react reaction reader
realise reality realize reasonable rebel recall receipt reception recipe recognise recognize recommendation
recover recovery rectangle recursion recursive recycle red redis reference refrigerator refugee refuse regex
regexp region regional register regret rehearse reinforce reject relation relationship relative relax release
reliable relief relieve religion rely remote renew rent repair repo report repository reputation rescue research
reservation reserve resident resign resist resolve resource respect response responsibility responsible
restaurant restore restrict retire reveal revenge revenue review revolution reward rhyme rhythm ribbon rice rich
riddle ride rifle ring rinse rise risk river road rob robot rock rocket role roll romance romantic rome roof
room root rope rose rotate rotten round route routine row royal rub rubbish ruby rude ruin ruler rumour running
runtime rural rush russia russian rust sack sacred sadness safe safety sail sailor salad salary sale salt sand
sandbox sandwich satellite satisfaction satisfy saturday sauce sausage saying scala scale scandal scare scatter
scene schedule schema scholar scholarship school science scientist scissors scold score scream screen script
scrub sdk sea seal season seat secondary secret secretary security seed seek self selfish sell senior sensation
sensible sensitive september sequence serialize series serve service session settings severe shadow shake
shallow shame shape shark sharp shave sheep sheet shelf shell shelter shield shift shine shiny ship shirt shiver
shock shoe shoot shop shore shoulder shout shower shrink shut shy sibling sick sigh sign signal silence silent
silk silly silver sin sine sing singleton sink sip sir sister sit site skeleton ski skill skin skirt sky slap
slave sleep sleepy sleeve slice slide slim slip slope smart smell smile smooth snake snap sneeze sniff snow soak
soap soccer social society sock socket sofa soft software soil solar soldier solid son song soothe sorrow soul
soup sour source south space spacecraft spain spanish spare spark sparkle speaker special spectrum speech speed
spend spice spicy spider spin spirit spiritual spit spoil spoon sport spot spray spread spreadsheet spring
sprout sql sqlite square squash squeak squeeze squirrel ssh stab stable stack stadium staff stage stain stairs
stamp standard star stare statement station statistic statue status stderr stdin stdout steady steak steal steam
steel steep steer stem stick stiff stir stock stomach stone storage store storm story stranger strap strategy
strawberry stream street strength strengthen stress stretch strict string strip stroke strong struct structure
struggle student studio study stupid subclass subject submit subprocess substance substring subtle subtract
suburb succeed success sudo suffer sufficient sugar suitcase sum sun sunday sunlight sunny sunset superior
supper supply support surface surprise surround survey survival survive suspect swap swedish sweet swift swim
swing sword symbol sympathy symptom syntax system table tail tale talent tall tame tangent tank tap tape target
taste tax taxi tea teach team tease technique technology teenager telephone television temperature template
temple tempt tendency tender tennis tense tension tent terminal terrify territory terror texas thaw theory thick
thief thin thread threat throat throw thumb thunder thursday ticket tickle tide tie tiger tight tile timber
timestamp timezone tin tiny tired tissue title toast tobacco toe toilet token tokyo tomato tongue tooth topic
tornado tough tour tow towel town toxic toy trace traceback track trade tradition traffic tragedy train transfer
transform transition transport transportation trap travel traverse treasure treatment tree tremble trend trial
triangle tribe trick trigger trip tropical trot trouble truck trust truth tube tuesday tug tumble tunnel tuple
turkish turtle tv twin twist typescript typo ubuntu ugly ukrainian umbrella unable uncle undo undress unfair
unfasten unhappy unicode uniform union unit unite unittest universal universe university unknown unlock unpack
unusual update upgrade upload upset urban urge urgent url useless user utf vacation vaccine vague valid validate
validation valley valuable van vanish variable variety vase vector vegetable vehicle vein venv verb victim
victory video vietnamese viewer viewport village vim violence violent violin virtual virtue virus visible vision
visit vital vitamin vivid vocabulary voice volcano volleyball volume volunteer vote vowel vscode vue vulnerable
wage waiter waiting wake wall wallet wander war warm warn warrior wash waste watch water wave weak weakness
wealthy weapon wear weather web webhook webpack website wedding wednesday weed weekend weigh weight west wet
whale wheat wheel whip whirl whisper whistle white wicked wide widget width wife wild wildcard willow win window
wine wing wink winter wipe wire wisdom wise witch witness wizard wolf woman women wonderful wood wooden worker
workflow workshop world worm worry worthy wound wrap wreck wrestle wrist writer xml yacht yaml yard yawn yell
yellow yield york young youth zebra zip zone zoo zoom"""

# The words without which no sentence does, in other languages.
_ABROAD = """aan aber al als au auch auf aus aux avec bei bij bin bis bist bitte ce cela ces cette che chi ci comme como con
cosa cual cuando da dann dans das dass dat de dei dein del della dem den denn der des di die dir doch donde du e
een ein eine einem einen einer el ella elle ellos en er es ese est esta este esto et etait ete etre eu euch
faire fait fue fur gibt gli ha hab habe haben hast hatte hay hecho het heute hier hij ho hoe ich ihm ihn ihr ik
il ils im io ist ja je jetzt kan kann kannst kein keine konnen la las le les leur lo los lui ma maar mach machen
mais mal mehr mein meine meinem meinen mes mi mia mich mijn mio mir mis mit moi mon mucho muss muy naar nach ne
nein nel nicht niet noch nog non nos notre nous nuestra nuestro nur o ob oder om ook op ou par para pas pero piu
por porque pourquoi qu quale quand quando que quel quelle questo qui quien sa sans schon schreib schreibe se sehr
sein ses si sich sie sin sind sobre soll sono sont su sul sur sus ta te tes tiene toi tot tu tus uber uit un una
und une uno uns unser unsere vom von voor vor vos votre vous waar waren warum wat weil welche welcher welches
wenn wer wie wieder wieso wij wir wird wo wurde y zijn zu zum zur"""

_SUFFIXES = ("s", "es", "ed", "ing", "er", "ly")


@cache
def _empty() -> frozenset[str]:
    return STOP.union(_EMPTY.split(), _ABROAD.split())


@cache
def _common() -> frozenset[str]:
    return frozenset(_COMMON.split())


def says_nothing(word: str) -> bool:
    """Whether a word of a question, in small letters and without accents, is one that any question may have."""
    return (len(word) == 1 and word.isascii()) or any(form in _empty() for form in _bases(word))


def is_common(word: str) -> bool:
    """Whether everybody speaks of it, so that the word alone leads nowhere. Small and round numbers are such."""
    if word.isdecimal():
        return len(word) < 3 or word.strip("0") in {*"123456789"} or 1900 <= int(word[:9]) < 2100
    return (len(word) < 3 and word.isalpha()) or any(form in _common() for form in _bases(word))


@lru_cache(4096)
def _bases(word: str) -> tuple[str, ...]:
    """The word, and what it may be a form of."""
    found = dict.fromkeys(english.forms(word))
    for suffix in _SUFFIXES:
        base = word.removesuffix(suffix)
        if base == word or len(base) < 2:
            continue
        found[base + "e"] = None
        if len(base) > 2:
            found[base] = None
        if base.endswith("i"):
            found[base[:-1] + "y"] = None
        if len(base) > 3 and base[-1] == base[-2]:
            found[base[:-1]] = None
    if word.endswith("s") and len(word) > 4:
        found |= dict.fromkeys(_bases(word[:-1]))
    return tuple(found)
