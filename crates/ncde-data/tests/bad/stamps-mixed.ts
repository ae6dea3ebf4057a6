@problemName p
@timeStamps true
@dimensions 2
@classLabel true a b
@data
(0,1),(2020-01-01,2):(0,1):a
